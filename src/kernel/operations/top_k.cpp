// top_k: the k best elements of each row, sorted.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/segments.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

constexpr std::uint64_t k_max = 1024;

// Elements become integer keys in the order best first: both zeros are equal, NaN is last, and padding follows NaN.
constexpr const char* functions = R"(
FUNCTION uint sort_key(float value, uint largest) {
  uint bits = AS_U32(value);
  if ((bits << 1) == 0u) { bits = 0u; }
  bool negative = (bits & 0x80000000u) != 0u;
  uint key = bits | 0x80000000u;
  if (negative) { key = ~bits; }
  if (largest != 0u) { key = ~key; }
  if (IS_NAN(value)) { key = 0xffffffffu; }
  return key;
}
FUNCTION bool sorts_before(uint key, uint place, uint other_key, uint other_place) {
  return key < other_key || (key == other_key && place < other_place);
}
)";

// The best so far are sorted in the lower half of `keys` and `places`. Elements better than the k-th are written to the
// upper half and sorted in reverse, and one bitonic merge gives the new best. Rounds without such elements are skipped
// if shared memory has room for `found`, one word more than the powers of two of the other arrays.
constexpr const char* body = R"(
  for (uint i = LOCAL_ID(0); i < ROOM; i += GROUP_SIZE(0)) {
    keys[i] = 0xffffffffu;
    places[i] = 0xffffffffu;
  }
  BARRIER();
  uint rounds = (length + ROOM - 1u) / ROOM;
  for (uint round = 0u; round < rounds; round++) {
    $BEGIN
    for (uint i = LOCAL_ID(0); i < ROOM; i += GROUP_SIZE(0)) {
      uint at = round * ROOM + i;
      uint key = 0xffffffffu;
      uint place = 0xffffffffu;
      if (at < length) {
        $LOAD
        if (sorts_before(key, place, keys[k - 1u], places[k - 1u])) {
          $NOTE
        } else {
          key = 0xffffffffu;
          place = 0xffffffffu;
        }
      }
      keys[ROOM + i] = key;
      places[ROOM + i] = place;
    }
    if ($FOUND) {
      for (uint size = 2u; size <= ROOM; size = size * 2u) {
        for (uint reach = size / 2u; reach > 0u; reach = reach / 2u) {
          for (uint i = LOCAL_ID(0); i < ROOM / 2u; i += GROUP_SIZE(0)) {
            uint low = 2u * reach * (i / reach) + i % reach;
            bool rising = (low & size) != 0u;
            uint a = ROOM + low;
            uint b = a + reach;
            if (sorts_before(keys[b], places[b], keys[a], places[a]) == rising) {
              $SWAP
            }
          }
          BARRIER();
        }
      }
      for (uint i = LOCAL_ID(0); i < ROOM; i += GROUP_SIZE(0)) {
        if (sorts_before(keys[ROOM + i], places[ROOM + i], keys[i], places[i])) {
          keys[i] = keys[ROOM + i];
          places[i] = places[ROOM + i];
        }
      }
      BARRIER();
      for (uint reach = ROOM / 2u; reach > 0u; reach = reach / 2u) {
        for (uint i = LOCAL_ID(0); i < ROOM / 2u; i += GROUP_SIZE(0)) {
          uint a = 2u * reach * (i / reach) + i % reach;
          uint b = a + reach;
          if (sorts_before(keys[b], places[b], keys[a], places[a])) {
            $SWAP
          }
        }
        BARRIER();
      }
    }
    BARRIER();
  }
  for (uint i = LOCAL_ID(0); i < k; i += GROUP_SIZE(0)) {
    $STORE
  }
  BARRIER();
)";

constexpr const char* swap_elements = R"(
            uint key = keys[a];
            uint place = places[a];
            keys[a] = keys[b];
            places[a] = places[b];
            keys[b] = key;
            places[b] = place;
)";
constexpr const char* load_element = R"(
        key = sort_key(LOAD_x(x_offset + row * x_stride + first + at), largest);
        place = first + at;
)";
constexpr const char* load_kept = R"(
        key = LOAD_kept_keys(row * columns + first + at);
        place = LOAD_kept_places(row * columns + first + at);
)";
constexpr const char* store_result = R"(
    STORE_values(values_offset + row * values_stride + i, LOAD_x(x_offset + row * x_stride + places[i]));
    STORE_index(index_offset + row * index_stride + i, AS_I32(places[i]));
)";
constexpr const char* store_kept = R"(
    STORE_kept_keys(piece * k + i, keys[i]);
    STORE_kept_places(piece * k + i, places[i]);
)";

// One step for short rows; two for long ones: the best of each segment, then the best of these.
enum class Step : std::uint8_t { whole, segments, kept };

constexpr const char* clear_found = R"(
    if (LOCAL_ID(0) == 0u) { found[0] = 0u; }
    BARRIER();
)";

struct TopKernel {
  Step step = Step::whole;
  std::uint32_t room = 2;  // elements of a half
  std::uint32_t group = 1;
  bool skips = true;  // rounds without elements that are better than the k-th

  [[nodiscard]] std::uint64_t shared_bytes() const {
    return (4 * std::uint64_t{room} + (skips ? 1 : 0)) * sizeof(std::uint32_t);
  }
};

KernelSource source(const TopKernel& kernel) {
  const Step step = kernel.step;
  const std::uint32_t room = kernel.room;
  KernelSource result;
  result.name = step == Step::whole ? "top_k" : step == Step::segments ? "top_k_segments" : "top_k_kept";
  result.buffers = {{"x", DType::float32, Access::read}};
  if (step != Step::whole) {
    const Access access = step == Step::segments ? Access::write : Access::read;
    result.buffers.insert(result.buffers.end(),
                          {{"kept_keys", DType::uint32, access}, {"kept_places", DType::uint32, access}});
  }
  if (step != Step::segments) {
    result.buffers.insert(result.buffers.end(),
                          {{"values", DType::float32, Access::write}, {"index", DType::int32, Access::write}});
  }
  result.scalars = segment_scalars();
  for (const char* scalar :
       {"k", "largest", "x_offset", "x_stride", "values_offset", "values_stride", "index_offset", "index_stride"}) {
    result.scalars.push_back({scalar, DType::uint32});
  }
  result.shared = {{"keys", DType::uint32, 2 * room}, {"places", DType::uint32, 2 * room}};
  if (kernel.skips) result.shared.push_back({"found", DType::uint32, 1});
  result.group = {kernel.group, 1, 1};
  result.defines = {{"ROOM", fmt::format("{}u", room)}, {"RESIDENT_GROUPS", "4"}};
  result.functions = functions;
  result.body = segment_body(substitute(body, {{"$BEGIN", kernel.skips ? clear_found : ""},
                                               {"$LOAD", step == Step::kept ? load_kept : load_element},
                                               {"$NOTE", kernel.skips ? "ATOMIC_OR_U32(found, 0, 1u);" : ""},
                                               {"$FOUND", kernel.skips ? "UNIFORM_LOAD(found, 0) != 0u" : "true"},
                                               {"$SWAP", swap_elements},
                                               {"$SWAP", swap_elements},
                                               {"$STORE", step == Step::segments ? store_kept : store_result}}));
  return result;
}

PlannedLaunch launch_of(const OperationCall& call, const DeviceInfo& device, Step step, const RowSegments& segments,
                        std::vector<std::size_t> buffers) {
  const View& x = call.views[0];
  const View& values = call.views[1];
  const View& index = call.views[2];
  const std::uint32_t group = group_items(device, 256);
  TopKernel kernel{step, std::max({power_of_two(values.columns), group, 2U}), group};
  kernel.skips = kernel.shared_bytes() <= device.limits.shared_bytes_max;
  if (kernel.shared_bytes() > device.limits.shared_bytes_max) {
    throw Error(ErrorCode::unsupported, call.operation->name,
                fmt::format("k is {}, which needs {} bytes of shared memory, the device has {}; use a smaller k",
                            values.columns, kernel.shared_bytes(), device.limits.shared_bytes_max));
  }
  SegmentLaunch launch = segment_launch(segments, group);
  launch.scalars.insert(
      launch.scalars.end(),
      {index32(values.columns), index32(call.parameters[0].integer != 0 ? 1 : 0), index32(x.offset), index32(x.stride),
       index32(values.offset), index32(values.stride), index32(index.offset), index32(index.stride)});
  return {fmt::format("top_k {} {} {} {}", static_cast<int>(step), kernel.room, group, kernel.skips),
          [kernel] { return source(kernel); }, launch.shape, std::move(buffers), std::move(launch.scalars)};
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const std::uint64_t k = call.views[1].columns;
  const RowSegments segments = segment_rows(x.rows, x.columns, {.pieces = 64, .shortest = 8192});
  const std::size_t keys = call.views.size();
  if (segments.in_row() == 1) {
    return only(launch_of(call, device, Step::whole, {x.rows, x.columns, x.columns}, {0, 1, 2}));
  }
  const std::uint64_t kept = segments.in_row() * k;
  const std::uint64_t bytes = x.rows * kept * sizeof(std::uint32_t);
  return {{bytes, bytes},
          {launch_of(call, device, Step::segments, segments, {0, keys, keys + 1}),
           launch_of(call, device, Step::kept, {x.rows, kept, kept}, {0, keys, keys + 1, 1, 2})}};
}

void check(const OperationCall& call) {
  const View& x = call.views[0];
  const std::uint64_t k = call.views[1].columns;
  expect_shape(call, 1, x.rows, k, "k best for each row of 'x'");
  expect_shape(call, 2, x.rows, k, "as 'values' is");
  if (x.rows > 0 && (k < 1 || k > std::min(x.columns, k_max))) {
    throw_invalid(
        call, fmt::format("k is {}, the columns of 'values'; it must lie between 1 and {}, the columns of 'x' or {}; "
                          "change it",
                          k, std::min(x.columns, k_max), k_max));
  }
  if (x.columns > INT32_MAX) {
    throw_invalid(call, fmt::format("'x' has {} columns, an int32 index reaches at most {}; split the view", x.columns,
                                    INT32_MAX));
  }
}

// Shapes that use one and two steps for every buffer size that a k can need.
std::vector<std::vector<std::array<std::uint64_t, 2>>> samples() {
  std::vector<std::vector<std::array<std::uint64_t, 2>>> shapes;
  for (const std::uint64_t k : {4U, 300U, 600U}) {
    shapes.push_back({{2, 5000}, {2, k}, {2, k}});
    shapes.push_back({{1, 10000}, {1, k}, {1, k}});
  }
  return shapes;
}

}  // namespace

void define_top_k(std::vector<Operation>& operations) {
  operations.push_back(
      {.name = "top_k",
       .summary = "values and index become the k best elements of each row of x and their column indices, best first, "
                  "the lower index of equals first; NaN comes last. k is the columns of values, at most 1024.",
       .operands = {{"x", Access::read, {DType::float32}},
                    {"values", Access::write, {DType::float32}},
                    {"index", Access::write, {DType::int32}}},
       .parameters = {{"largest", true, 0, 1, 1}},
       .types_agree = {},
       .check = check,
       .when_empty = {},
       .plan = plan,
       .cost = cost_per_element,
       .samples = samples(),
       .splits = split_by_rows({0, 1, 2})});
}

}  // namespace vectis::inline v0_1
