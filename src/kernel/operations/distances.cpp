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

// Computes the cosine of one pair again, when squares of its rows may have overflowed or underflowed in float32: both
// rows are scaled by powers of two, so that their largest finite element is about 1. It is rarely needed.
// Unrolled, since Mesa's software drivers stop a work-item after 65,535 loop iterations in all.
constexpr const char* scale_cosine = R"(
      bool q_usual = IS_NAN(q_norm) || (q_norm >= 8.8817841970012523e-16f && q_norm <= 1152921504606846976.0f);
      bool x_usual = IS_NAN(x_norm) || (x_norm >= 8.8817841970012523e-16f && x_norm <= 1152921504606846976.0f);
      if (!q_usual || !x_usual) {
        uint q_at = a_offset + row * a_step;
        uint x_at = b_offset + col * b_step;
        uint q_largest = 0u;
        uint x_largest = 0u;
        for (uint first = 0u; first < depth; first += 16u) {
          for (uint j = 0u; j < 16u; j++) {
            if (first + j < depth) {
              uint q_bits = AS_U32(F32(LOAD_a(q_at + (first + j) * a_depth_step))) & 0x7fffffffu;
              uint x_bits = AS_U32(F32(LOAD_b(x_at + (first + j) * b_depth_step))) & 0x7fffffffu;
              if (q_bits < 0x7f800000u) { q_largest = UMAX(q_largest, q_bits); }
              if (x_bits < 0x7f800000u) { x_largest = UMAX(x_largest, x_bits); }
            }
          }
        }
        float q_scale = AS_F32(UMAX(0x7f000000u - (q_largest & 0x7f800000u), 0x00800000u));
        float x_scale = AS_F32(UMAX(0x7f000000u - (x_largest & 0x7f800000u), 0x00800000u));
        acc = 0.0f;
        q_norm = 0.0f;
        x_norm = 0.0f;
        for (uint first = 0u; first < depth; first += 16u) {
          float product = 0.0f;
          float q_squares = 0.0f;
          float x_squares = 0.0f;
          for (uint j = 0u; j < 16u; j++) {
            if (first + j < depth) {
              float q_value = F32(LOAD_a(q_at + (first + j) * a_depth_step)) * q_scale;
              float x_value = F32(LOAD_b(x_at + (first + j) * b_depth_step)) * x_scale;
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
      }
)";

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
    const bool wide_range = q.type == DType::float32 || q.type == DType::bfloat16;
    work.store = fmt::format(R"(
      float q_norm = LOAD_q_norms(row);
      float x_norm = LOAD_x_norms(col);
      {}
      float distance = 1.0f;
      if (!(q_norm == 0.0f) && !(x_norm == 0.0f)) {{ distance = 1.0f - acc / (q_norm * x_norm); }}
      STORE_y(to, distance);
)",
                             wide_range ? scale_cosine : "");
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
