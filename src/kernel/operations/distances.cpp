// l2_squared, dot_product and cosine_distance: of every query to every vector.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/reduction.hpp"
#include "kernel/templates/tile.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

enum class PairwiseKind : std::uint8_t { l2_squared, dot_product, cosine };

void check(const OperationCall& call) {
  const View& q = call.views[0];
  const View& x = call.views[1];
  if (q.columns != x.columns) {
    throw_invalid(
        call, fmt::format("'q' has {} columns, but 'x' has {}; give vectors of equal dimension", q.columns, x.columns));
  }
  expect_shape(call, 2, q.rows, x.rows, "rows of 'q' by rows of 'x'");
}

// Computes the cosine of a pair again, when squares of its rows may have overflowed or underflowed in float32: both
// rows are scaled by powers of two, so that their largest finite element is about 1. A kernel of its own, since it is
// rarely needed and would take registers of the tiled one. Its loops are unrolled, since Mesa's software drivers stop a
// work-item after 65,535 loop iterations in all.
constexpr const char* repair_body = R"(
  uint row = row0 + down;
  uint col = col0 + across;
  if (row < rows && col < columns) {
    float q_norm = LOAD_q_norms(row);
    float x_norm = LOAD_x_norms(col);
    bool q_usual = IS_NAN(q_norm) || (q_norm >= 8.8817841970012523e-16f && q_norm <= 1152921504606846976.0f);
    bool x_usual = IS_NAN(x_norm) || (x_norm >= 8.8817841970012523e-16f && x_norm <= 1152921504606846976.0f);
    if (!q_usual || !x_usual) {
      uint q_at = q_offset + row * q_stride;
      uint x_at = x_offset + col * x_stride;
      uint q_largest = 0u;
      uint x_largest = 0u;
      for (uint first = 0u; first < depth; first += 16u) {
        for (uint j = 0u; j < 16u; j++) {
          if (first + j < depth) {
            uint q_bits = AS_U32(F32(LOAD_q(q_at + first + j))) & 0x7fffffffu;
            uint x_bits = AS_U32(F32(LOAD_x(x_at + first + j))) & 0x7fffffffu;
            if (q_bits < 0x7f800000u) { q_largest = UMAX(q_largest, q_bits); }
            if (x_bits < 0x7f800000u) { x_largest = UMAX(x_largest, x_bits); }
          }
        }
      }
      float q_scale = AS_F32(UMAX(0x7f000000u - (q_largest & 0x7f800000u), 0x00800000u));
      float x_scale = AS_F32(UMAX(0x7f000000u - (x_largest & 0x7f800000u), 0x00800000u));
      float acc = 0.0f;
      q_norm = 0.0f;
      x_norm = 0.0f;
      for (uint first = 0u; first < depth; first += 16u) {
        float product = 0.0f;
        float q_squares = 0.0f;
        float x_squares = 0.0f;
        for (uint j = 0u; j < 16u; j++) {
          if (first + j < depth) {
            float q_value = F32(LOAD_q(q_at + first + j)) * q_scale;
            float x_value = F32(LOAD_x(x_at + first + j)) * x_scale;
            product = FMA(q_value, x_value, product);
            q_squares = FMA(q_value, q_value, q_squares);
            x_squares = FMA(x_value, x_value, x_squares);
          }
        }
        acc = acc + product;
        q_norm = q_norm + q_squares;
        x_norm = x_norm + x_squares;
      }
      q_norm = SQRT(q_norm);
      x_norm = SQRT(x_norm);
      float distance = 1.0f;
      if (!(q_norm == 0.0f) && !(x_norm == 0.0f)) { distance = 1.0f - acc / (q_norm * x_norm); }
      STORE_y(out_offset + row * out_stride + col, distance);
    }
  }
)";

KernelSource repair_source(DType element, std::uint32_t side) {
  KernelSource source;
  source.name = "cosine_repair";
  source.buffers = {{"q", element, Access::read},
                    {"x", element, Access::read},
                    {"y", DType::float32, Access::write},
                    {"q_norms", DType::float32, Access::read},
                    {"x_norms", DType::float32, Access::read}};
  for (const char* scalar : {"chunk", "tiles", "row_tiles", "rows", "columns", "depth", "q_offset", "q_stride",
                             "x_offset", "x_stride", "out_offset", "out_stride"}) {
    source.scalars.push_back({scalar, DType::uint32});
  }
  source.group = {side * side, 1, 1};
  source.defines = {{"SIDE", fmt::format("{}u", side)}};
  source.body = tile_loop({.across = "SIDE", .rows = "SIDE", .columns = "SIDE"}, repair_body);
  return source;
}

// The launch after that of the tiled kernel. `buffers` are those of `y` and of the two norms.
PlannedLaunch repair_launch(const OperationCall& call, const DeviceInfo& device,
                            const std::vector<std::size_t>& buffers) {
  const View& q = call.views[0];
  const View& x = call.views[1];
  const View& out = call.views[2];
  const DType element = q.type;
  const std::uint32_t side = square_side(group_items(device, 256));
  const std::uint64_t row_tiles = divide_up(x.rows, side);
  const std::uint64_t tiles = divide_up(q.rows, side) * row_tiles;
  const GridPartition work = partition_grid(tiles, 1);
  PlannedLaunch launch;
  launch.key = fmt::format("cosine_repair {} {}", short_name(element), side);
  launch.source = [element, side] { return repair_source(element, side); };
  launch.shape = {.grid = {work.groups, 1, 1}, .block = {side * side, 1, 1}};
  launch.buffers = {0, 1};
  launch.buffers.insert(launch.buffers.end(), buffers.begin(), buffers.end());
  launch.scalars = {work.chunk,        index32(tiles),     index32(row_tiles),  index32(q.rows),
                    index32(x.rows),   index32(q.columns), index32(q.offset),   index32(q.stride),
                    index32(x.offset), index32(x.stride),  index32(out.offset), index32(out.stride)};
  return launch;
}

TileWork tile_work(PairwiseKind kind, const View& q) {
  TileWork work;
  work.element = q.type;
  work.arithmetic = q.type == DType::int8 ? TileArithmetic::wide : TileArithmetic::floats;
  work.step = kind == PairwiseKind::l2_squared ? TileStep::squared_difference : TileStep::product;
  work.name = kind == PairwiseKind::l2_squared ? "l2_squared"
              : kind == PairwiseKind::cosine   ? "cosine_distance"
                                               : "dot_product";
  work.buffers = {{"y", DType::float32, Access::write}};
  work.store = "STORE_y(to, acc);";
  if (kind == PairwiseKind::cosine) {
    work.buffers.insert(work.buffers.end(),
                        {{"q_norms", DType::float32, Access::read}, {"x_norms", DType::float32, Access::read}});
    // Not `!=`: norms may be NaN, for which naga compiles `!=` to an ordered comparison.
    work.store = R"(
      float q_norm = LOAD_q_norms(row);
      float x_norm = LOAD_x_norms(col);
      float distance = 1.0f;
      if (!(q_norm == 0.0f) && !(x_norm == 0.0f)) { distance = 1.0f - acc / (q_norm * x_norm); }
      STORE_y(to, distance);
)";
  }
  return work;
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device, PairwiseKind kind) {
  const View& q = call.views[0];
  const View& x = call.views[1];
  LaunchPlan plan;
  std::vector<std::size_t> buffers = {2};
  if (kind == PairwiseKind::cosine) {
    ReductionPlanner planner(plan, call.views.size(), device);
    for (std::size_t side = 0; side < 2; ++side) {
      const ReductionInput rows = reduction_input(call.views[side], side);
      const std::size_t norms = planner.temporary(rows.rows);
      planner.rows(Reduction::squares, rows, {.buffer = norms, .root = true});
      buffers.push_back(norms);
    }
  }
  plan.launches.push_back(tile_launch(tile_work(kind, q), {q.rows, x.rows, q.columns}, {q.offset, q.stride, 1},
                                      {x.offset, x.stride, 1}, call.views[2], device));
  auto& places = plan.launches.back().buffers;
  places.insert(places.end(), buffers.begin(), buffers.end());
  const bool wide_range = q.type == DType::float32 || q.type == DType::bfloat16;
  if (kind == PairwiseKind::cosine && wide_range) plan.launches.push_back(repair_launch(call, device, buffers));
  return plan;
}

OperationCost cost(const OperationCall& call) {
  const View& q = call.views[0];
  const double pairs = static_cast<double>(q.rows) * static_cast<double>(call.views[1].rows);
  const double steps = call.operation->name == "l2_squared" ? 3 : 2;
  return {steps * pairs * static_cast<double>(q.columns), bytes_of(call.views)};
}

Operation define(const char* name, const char* summary, PairwiseKind kind) {
  Operation operation;
  operation.name = name;
  operation.summary = summary;
  operation.operands = {{"q", Access::read, number_types()},
                        {"x", Access::read, number_types()},
                        {"out", Access::write, {DType::float32}}};
  operation.types_agree = same_type<0, 1>;
  operation.check = check;
  operation.plan = [kind](const OperationCall& call, const DeviceInfo& device) { return plan(call, device, kind); };
  operation.cost = cost;
  operation.samples = {{{3, 8}, {5, 8}, {3, 5}}};
  operation.splits = [](const OperationCall&) -> std::vector<CallSplit> {
    return {{{{0, SplitAxis::rows}, {2, SplitAxis::rows}}}, {{{1, SplitAxis::rows}, {2, SplitAxis::columns}}}};
  };
  return operation;
}

}  // namespace

void define_distances(std::vector<Operation>& operations) {
  operations.push_back(
      define("l2_squared",
             "out becomes the squared Euclidean distance of each row of q to each row of x, computed as the sum of "
             "squared differences (Metric::l2_squared; the function l2_distance takes the root).",
             PairwiseKind::l2_squared));
  operations.push_back(
      define("dot_product",
             "out becomes the dot product of each row of q with each row of x (Metric::inner_product is its negative).",
             PairwiseKind::dot_product));
  operations.push_back(define(
      "cosine_distance",
      "out becomes 1 minus the cosine between each row of q and each row of x, 1 if either is zero (Metric::cosine).",
      PairwiseKind::cosine));
}

}  // namespace vectis::inline v0_1
