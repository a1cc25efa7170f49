// prefix_sum: inclusive and exclusive scans of each row.
#include <fmt/format.h>

#include <initializer_list>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/segments.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// The sum of each segment, by one group.
constexpr const char* totals_body = R"(
  uint base = x_offset + row * x_stride + first;
  NUMBER sum = ZERO;
  for (uint i = LOCAL_ID(0); i < length; i += GROUP_SIZE(0)) { sum = sum + LOAD_x(base + i); }
  parts[LOCAL_ID(0)] = sum;
  BARRIER();
  for (uint reach = GROUP_SIZE(0) / 2u; reach > 0u; reach = reach / 2u) {
    if (LOCAL_ID(0) < reach) { parts[LOCAL_ID(0)] = parts[LOCAL_ID(0)] + parts[LOCAL_ID(0) + reach]; }
    BARRIER();
  }
  if (LOCAL_ID(0) == 0u) { STORE_totals(piece, parts[0]); }
  BARRIER();
)";

// The scan of each segment, starting from the sum of the segments before it. Each work-item sums four consecutive
// elements, the group scans these sums in log2 steps (Hillis and Steele) and continues with its total.
constexpr const char* scan_body = R"(
  uint from = x_offset + row * x_stride + first;
  uint to = out_offset + row * out_stride + first;
  NUMBER reached = ZERO;
  if (has_starts != 0u) { reached = LOAD_starts(piece); }
  uint rounds = (length + 4u * GROUP_SIZE(0) - 1u) / (4u * GROUP_SIZE(0));
  for (uint round = 0u; round < rounds; round++) {
    uint at = (round * GROUP_SIZE(0) + LOCAL_ID(0)) * 4u;
    NUMBER sums[4];
    NUMBER sum = ZERO;
    for (uint j = 0u; j < 4u; j++) {
      if (exclusive != 0u) { sums[j] = sum; }
      if (at + j < length) { sum = sum + LOAD_x(from + at + j); }
      if (exclusive == 0u) { sums[j] = sum; }
    }
    parts[LOCAL_ID(0)] = sum;
    BARRIER();
    for (uint reach = 1u; reach < GROUP_SIZE(0); reach = reach * 2u) {
      NUMBER other = ZERO;
      if (LOCAL_ID(0) >= reach) { other = parts[LOCAL_ID(0) - reach]; }
      BARRIER();
      if (LOCAL_ID(0) >= reach) { parts[LOCAL_ID(0)] = other + parts[LOCAL_ID(0)]; }
      BARRIER();
    }
    NUMBER before = reached;
    if (LOCAL_ID(0) > 0u) { before = reached + parts[LOCAL_ID(0) - 1u]; }
    for (uint j = 0u; j < 4u; j++) {
      if (at + j < length) { STORE_y(to + at + j, before + sums[j]); }
    }
    reached = reached + parts[GROUP_SIZE(0) - 1u];
    BARRIER();
  }
)";

// int32 is summed as uint, which wraps in every dialect.
KernelSource source(bool totals, DType number, std::uint32_t group) {
  KernelSource result;
  result.name = totals ? "prefix_totals" : "prefix_sum";
  result.buffers = {{"x", number, Access::read}};
  if (totals) {
    result.buffers.push_back({"totals", number, Access::write});
  } else {
    result.buffers.insert(result.buffers.end(), {{"starts", number, Access::read}, {"y", number, Access::write}});
  }
  result.scalars = segment_scalars();
  result.scalars.insert(result.scalars.end(), {{"x_offset", DType::uint32}, {"x_stride", DType::uint32}});
  if (!totals) {
    for (const char* scalar : {"out_offset", "out_stride", "has_starts", "exclusive"}) {
      result.scalars.push_back({scalar, DType::uint32});
    }
  }
  result.shared = {{"parts", number, group}};
  result.group = {group, 1, 1};
  const bool real = number == DType::float32;
  result.defines = {{"NUMBER", real ? "float" : "uint"}, {"ZERO", real ? "0.0f" : "0u"}};
  result.body = segment_body(totals ? totals_body : scan_body);
  return result;
}

struct Place {
  std::size_t buffer;
  std::uint64_t offset, stride;
};

class Planner {
 public:
  Planner(const OperationCall& call, const DeviceInfo& device)
      : number_(call.views[0].type == DType::float32 ? DType::float32 : DType::uint32),
        views_(call.views.size()),
        group_(group_items(device, 256)) {}

  void scan(const Place& x, const Place& out, std::uint64_t rows, std::uint64_t columns, bool exclusive) {
    const RowSegments segments = segment_rows(rows, columns, {.pieces = 256, .shortest = 16384});
    const std::uint64_t in_row = segments.in_row();
    std::size_t starts = x.buffer;  // something to bind where nothing comes before
    if (in_row > 1) {
      const std::size_t totals = temporary(segments.pieces());
      starts = temporary(segments.pieces());
      add(true, segments, {x.buffer, totals}, {index32(x.offset), index32(x.stride)});
      scan({totals, 0, in_row}, {starts, 0, in_row}, rows, in_row, true);
    }
    add(false, segments, {x.buffer, starts, out.buffer},
        {index32(x.offset), index32(x.stride), index32(out.offset), index32(out.stride), index32(in_row > 1 ? 1 : 0),
         index32(exclusive ? 1 : 0)});
  }
  LaunchPlan take() { return std::move(plan_); }

 private:
  std::size_t temporary(std::uint64_t elements) {
    plan_.temporary_bytes.push_back(elements * sizeof(float));
    return views_ + plan_.temporary_bytes.size() - 1;
  }
  // `scalars` are those after segment_scalars().
  void add(bool totals, const RowSegments& segments, std::vector<std::size_t> buffers,
           std::initializer_list<LaunchArgument> scalars) {
    const DType number = number_;
    const std::uint32_t group = group_;
    SegmentLaunch launch = segment_launch(segments, group);
    launch.scalars.insert(launch.scalars.end(), scalars);
    plan_.launches.push_back({fmt::format("prefix {} {} {}", totals, short_name(number), group),
                              [=] { return source(totals, number, group); }, launch.shape, std::move(buffers),
                              std::move(launch.scalars)});
  }

  DType number_;
  std::size_t views_;
  std::uint32_t group_;
  LaunchPlan plan_;
};

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& out = call.views[1];
  Planner planner(call, device);
  planner.scan({0, x.offset, x.stride}, {1, out.offset, out.stride}, x.rows, x.columns,
               call.parameters[0].integer != 0);
  return planner.take();
}

}  // namespace

void define_prefix_sum(std::vector<Operation>& operations) {
  const std::vector<DType> types = {DType::float32, DType::int32};
  operations.push_back({.name = "prefix_sum",
                        .summary = "out becomes the prefix sums of each row of x, with the element itself or, if "
                                   "exclusive is 1, without it; int32 wraps.",
                        .operands = {{"x", Access::read, types}, {"out", Access::write, types}},
                        .parameters = {{"exclusive", true, 0, 1, 0}},
                        .types_agree = same_type<0, 1>,
                        .check = expect_shape_of_x,
                        .when_empty = {},
                        .plan = plan,
                        .cost = cost_per_element,
                        .samples = {{{3, 5}, {3, 5}}, {{1, 100000}, {1, 100000}}},
                        .splits = split_by_rows({0, 1})});
}

}  // namespace vectis::inline v0_1
