// graph_prune: RobustPrune (Vamana, DiskANN), the choice of a row's neighbors among candidates.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/graph.hpp"
#include "kernel/templates/order.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// One group per list. Dropped candidates become NOTHING; `state` holds the index of the next chosen candidate.
constexpr const char* prune_body = R"(
  uint chosen_at = chosen_offset + list * chosen_stride;
  uint chosen_distances_at = chosen_distances_offset + list * chosen_distances_stride;
  for (uint i = LOCAL_ID(0); i < count; i += GROUP_SIZE(0)) {
    uint row = AS_U32(LOAD_candidates(candidates_offset + list * candidates_stride + i));
    if (row >= rows) { row = NOTHING; }
    left[i] = row;
    far[i] = LOAD_distances(distances_offset + list * distances_stride + i);
  }
  uint taken = 0u;
  uint from = 0u;
  bool going = true;
  while (going) {
    if (LOCAL_ID(0) == 0u) { state[0] = NOTHING; }
    BARRIER();
    for (uint i = from + LOCAL_ID(0); i < count; i += GROUP_SIZE(0)) {
      if (left[i] != NOTHING) { ATOMIC_MIN_U32(state, 0, i); }
    }
    uint best = UNIFORM_LOAD(state, 0);
    going = best != NOTHING;
    uint best_at = 0u;
    if (going) {
      best_at = x_offset + left[best] * x_stride;
      if (LOCAL_ID(0) == 0u) {
        STORE_chosen(chosen_at + taken, AS_I32(left[best]));
        STORE_chosen_distances(chosen_distances_at + taken, far[best]);
      }
      taken = taken + 1u;
      from = best + 1u;
      going = taken < degree;
    }
    if (going) {
      for (uint first = from; first < count; first += TEAMS) {
        uint one = first + team;
        bool is_left = false;
        if (one < count) { is_left = left[one] != NOTHING; }
        float sum = 0.0f;
        if (is_left) {
          uint row_at = x_offset + left[one] * x_stride;
          $DISTANCE
        }
        partial[LOCAL_ID(0)] = sum;
        BARRIER();
        if (lane == 0u && is_left) {
          for (uint i = 1u; i < TEAM; i++) { sum = sum + partial[LOCAL_ID(0) + i]; }
          float reach = sum * factor;
          bool nearer = order_key(reach) <= order_key(far[one]);
          if (nearer || IS_NAN(reach) || IS_NAN(far[one])) { left[one] = NOTHING; }
        }
        BARRIER();
      }
    }
    BARRIER();
  }
  for (uint i = taken + LOCAL_ID(0); i < degree; i += GROUP_SIZE(0)) {
    STORE_chosen(chosen_at + i, -1);
    STORE_chosen_distances(chosen_distances_at + i, F32_INFINITY);
  }
  BARRIER();
)";

KernelSource prune_source(std::uint32_t group, std::uint32_t room) {
  KernelSource source;
  source.name = "graph_prune";
  source.buffers = {{"x", DType::float32, Access::read},
                    {"candidates", DType::int32, Access::read},
                    {"distances", DType::float32, Access::read},
                    {"chosen", DType::int32, Access::write},
                    {"chosen_distances", DType::float32, Access::write}};
  source.shared = {{"left", DType::uint32, room},
                   {"far", DType::float32, room},
                   {"partial", DType::float32, group},
                   {"state", DType::uint32, 1}};
  complete_graph_source(source, {"chunk", "lists", "rows", "columns", "count", "degree"}, group);
  source.functions += order_functions;
  source.body =
      graph_body("list", "lists", substitute(prune_body, {{"$DISTANCE", graph_distance("LOAD_x(best_at + ")}}));
  return source;
}

LaunchPlan plan_prune(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& candidates = call.views[1];
  const std::uint32_t group = graph_group(device);
  const std::uint32_t room = graph_room(candidates.columns);
  const double reach = call.parameters[0].real;
  PlannedLaunch launch = graph_launch(call, device, candidates.rows, 2 * std::uint64_t{room} + group + 1,
                                      {candidates.rows, x.rows, x.columns, candidates.columns, call.views[3].columns},
                                      static_cast<float>(reach * reach));
  launch.key = fmt::format("graph_prune {} {}", group, room);
  launch.source = [=] { return prune_source(group, room); };
  return only(std::move(launch));
}

void check_prune(const OperationCall& call) {
  const View& candidates = call.views[1];
  expect_vectors(call);
  expect_columns(call, 1, graph_pool_max);
  expect_columns(call, 3, graph_pool_max);
  expect_shape(call, 2, candidates.rows, candidates.columns, "a distance for each element of 'candidates'");
  expect_shape(call, 3, candidates.rows, call.views[3].columns, "a row for each row of 'candidates'");
  expect_shape(call, 4, candidates.rows, call.views[3].columns, "a distance for each element of 'chosen'");
}

}  // namespace

void define_graph_prune(std::vector<Operation>& operations) {
  Operation prune;
  prune.name = "graph_prune";
  prune.summary =
      "RobustPrune (Vamana). Each row of candidates lists rows of x, sorted by their distance to one row; others are "
      "ignored. The first candidate is chosen, every later one that is at least alpha times nearer to it than to the "
      "row is dropped, and so on until none is left or chosen is full. chosen and chosen_distances become the chosen "
      "candidates in order, padded with -1 and infinity. Distances are squared Euclidean. At most 512 candidates.";
  prune.operands = {{"x", Access::read, {DType::float32}},
                    {"candidates", Access::read, {DType::int32}},
                    {"distances", Access::read, {DType::float32}},
                    {"chosen", Access::write, {DType::int32}},
                    {"chosen_distances", Access::write, {DType::float32}}};
  prune.parameters = {{"alpha", false, 0, anything, 1}};
  prune.check = check_prune;
  prune.when_empty = [](Stream& stream, const OperationCall& call) {
    fill_with_none(stream, call.views[3], call.views[4]);
  };
  prune.plan = plan_prune;
  prune.cost = [](const OperationCall& call) {
    // Estimated as if every chosen candidate were compared with half of the others.
    const double pairs = static_cast<double>(call.views[1].elements()) * static_cast<double>(call.views[3].columns) / 2;
    const auto columns = static_cast<double>(call.views[0].columns);
    return OperationCost{pairs * 3 * columns,
                         static_cast<double>(call.views[1].elements()) * 4 * columns + bytes_of(call.views.last(4))};
  };
  prune.samples = {{{50, 7}, {3, 40}, {3, 40}, {3, 8}, {3, 8}},
                   {{50, 7}, {3, 160}, {3, 160}, {3, 8}, {3, 8}},
                   {{50, 7}, {3, 512}, {3, 512}, {3, 8}, {3, 8}}};
  prune.splits = split_by_rows({1, 2, 3, 4});
  operations.push_back(std::move(prune));
}

}  // namespace vectis::inline v0_1
