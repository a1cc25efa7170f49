// Distances of every query to every vector.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/fold.hpp"
#include "kernel/templates/tile.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

enum class Metric : std::uint8_t { l2, inner_product, cosine };

void check(const OperationCall& call) {
  const View& q = call.views[0];
  const View& x = call.views[1];
  if (q.columns != x.columns) {
    refuse(call, fmt::format("'q' has {} columns and 'x' {}, they must be as many; compare vectors of one length",
                             q.columns, x.columns));
  }
  expect_shape(call, 2, q.rows, x.rows, "rows of 'q' by rows of 'x'");
}

TileWork tile_work(Metric metric, const View& q) {
  TileWork work;
  work.element = q.type;
  work.numbers = q.type == DType::int8 ? TileNumbers::wide : TileNumbers::floats;
  work.step = metric == Metric::l2 ? TileStep::squared_difference : TileStep::product;
  work.name = metric == Metric::l2 ? "l2_distance" : metric == Metric::cosine ? "cosine_distance" : "inner_product";
  work.buffers = {{"y", DType::float32, Access::write}};
  work.store = "STORE_y(to, acc);";
  if (metric == Metric::cosine) {
    work.buffers.insert(work.buffers.end(),
                        {{"q_norms", DType::float32, Access::read}, {"x_norms", DType::float32, Access::read}});
    // Norms may be NaN, and naga takes `!=` for a comparison that is false of NaN.
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

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device, Metric metric) {
  const View& q = call.views[0];
  const View& x = call.views[1];
  LaunchPlan plan;
  std::vector<std::size_t> buffers = {2};
  if (metric == Metric::cosine) {
    FoldPlanner planner(plan, call.views.size(), device);
    for (std::size_t side = 0; side < 2; ++side) {
      const FoldInput rows = fold_input(call.views[side], side);
      const std::size_t norms = planner.temporary(rows.rows);
      planner.rows(Fold::squares, rows, {.buffer = norms, .root = true});
      buffers.push_back(norms);
    }
  }
  plan.launches.push_back(tile_launch(tile_work(metric, q), {q.rows, x.rows, q.columns}, {q.offset, q.stride, 1},
                                      {x.offset, x.stride, 1}, call.views[2], device));
  auto& places = plan.launches.back().buffers;
  places.insert(places.end(), buffers.begin(), buffers.end());
  return plan;
}

OperationCost cost(const OperationCall& call) {
  const View& q = call.views[0];
  const double pairs = static_cast<double>(q.rows) * static_cast<double>(call.views[1].rows);
  const double steps = call.operation->name == "l2_distance" ? 3 : 2;
  return {steps * pairs * static_cast<double>(q.columns), bytes_of(call.views)};
}

Operation define(const char* name, const char* summary, Metric metric) {
  Operation operation;
  operation.name = name;
  operation.summary = summary;
  operation.operands = {{"q", Access::read, number_types()},
                        {"x", Access::read, number_types()},
                        {"out", Access::write, {DType::float32}}};
  operation.types_agree = same_type<0, 1>;
  operation.check = check;
  operation.plan = [metric](const OperationCall& call, const DeviceInfo& device) { return plan(call, device, metric); };
  operation.cost = cost;
  operation.samples = {{{3, 8}, {5, 8}, {3, 5}}};
  operation.cuts = [](const OperationCall&) -> std::vector<Cut> {
    return {{{{0, CutAxis::rows}, {2, CutAxis::rows}}}, {{{1, CutAxis::rows}, {2, CutAxis::columns}}}};
  };
  return operation;
}

}  // namespace

void define_distances(std::vector<Operation>& operations) {
  operations.push_back(define("l2_distance",
                              "out becomes the squared Euclidean distance of each row of q to each row of x, as the "
                              "sum of squared differences.",
                              Metric::l2));
  operations.push_back(define("inner_product", "out becomes the dot product of each row of q with each row of x.",
                              Metric::inner_product));
  operations.push_back(
      define("cosine_distance",
             "out becomes 1 less the cosine between each row of q and each row of x, 1 where either is "
             "zero.",
             Metric::cosine));
}

}  // namespace vectis::inline v0_1
