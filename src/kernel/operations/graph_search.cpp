// graph_search: best-first beam search over a neighbor graph, for each query.
#include <fmt/format.h>

#include <algorithm>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/graph.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// One group per query. The beam is sorted in one half of pool_keys and pool_rows, and the next step writes the other
// half; the highest bit of a row marks it as visited. `state` counts the rows scored first in this step and those of
// them that enter the beam, and holds the index of the nearest unvisited row. Loops are unrolled by several steps:
// Mesa's software drivers stop a work-item after 65,535 loop iterations in all.
constexpr const char* search_body = R"(
  uint query_at = q_offset + query * q_stride;
  for (uint i = LOCAL_ID(0); i < 2u * ROOM; i += GROUP_SIZE(0)) {
    pool_keys[i] = NOTHING;
    pool_rows[i] = NOTHING;
  }
  uint now = 0u;
  uint measured = 0u;
  uint links_at = 0u;
  bool at_entries = true;
  bool going = true;
  while (going) {
    uint length = degree;
    if (at_entries) { length = entry_count; }
    if (LOCAL_ID(0) == 0u) {
      state[0] = 0u;
      state[1] = 0u;
      state[2] = NOTHING;
    }
    for (uint i = LOCAL_ID(0); i < length; i += GROUP_SIZE(0)) {
      if (at_entries) { list[i] = AS_U32(LOAD_entries(entries_offset + i)); }
      if (!at_entries) { list[i] = AS_U32(LOAD_links(links_at + i)); }
    }
    BARRIER();
    for (uint i = LOCAL_ID(0); i < length; i += GROUP_SIZE(0)) {
      uint row = list[i];
      bool is_new = row < rows;
      for (uint j = 0u; j < i && is_new; j += 4u) {
        is_new = list[j] != row && (j + 1u >= i || list[j + 1u] != row) && (j + 2u >= i || list[j + 2u] != row) &&
                 (j + 3u >= i || list[j + 3u] != row);
      }
      for (uint j = now; j < now + width && is_new; j += 8u) {
        uint first = UMIN((pool_rows[j] & UNMARKED) ^ row, (pool_rows[j + 1u] & UNMARKED) ^ row);
        uint second = UMIN((pool_rows[j + 2u] & UNMARKED) ^ row, (pool_rows[j + 3u] & UNMARKED) ^ row);
        uint third = UMIN((pool_rows[j + 4u] & UNMARKED) ^ row, (pool_rows[j + 5u] & UNMARKED) ^ row);
        uint fourth = UMIN((pool_rows[j + 6u] & UNMARKED) ^ row, (pool_rows[j + 7u] & UNMARKED) ^ row);
        is_new = UMIN(UMIN(first, second), UMIN(third, fourth)) != 0u;
      }
      if (is_new) {
        uint slot = ATOMIC_ADD_U32(state, 0, 1u);
        met[slot] = row;
      }
    }
    uint count = UNIFORM_LOAD(state, 0);
    measured = measured + count;
    for (uint first = 0u; first < count; first += TEAMS) {
      uint one = first + team;
      float sum = 0.0f;
      if (one < count) {
        uint row_at = x_offset + met[one] * x_stride;
        $DISTANCE
      }
      partial[LOCAL_ID(0)] = sum;
      BARRIER();
      if (lane == 0u && one < count) {
        for (uint i = 1u; i < TEAM; i++) { sum = sum + partial[LOCAL_ID(0) + i]; }
        uint key = distance_key(sum);
        uint last = now + width - 1u;
        if (is_nearer(key, met[one], pool_keys[last], pool_rows[last] & UNMARKED)) {
          uint slot = ATOMIC_ADD_U32(state, 1, 1u);
          near_keys[slot] = key;
          near_rows[slot] = met[one];
        }
      }
      BARRIER();
    }
    uint nearer = UNIFORM_LOAD(state, 1);
    if (nearer > 0u) {
      for (uint i = LOCAL_ID(0); i < nearer; i += GROUP_SIZE(0)) {
        uint rank = 0u;
        for (uint j = 0u; j < nearer; j++) {
          if (is_nearer(near_keys[j], near_rows[j], near_keys[i], near_rows[i])) { rank = rank + 1u; }
        }
        sorted_keys[rank] = near_keys[i];
        sorted_rows[rank] = near_rows[i];
      }
      BARRIER();
      uint next_pool = ROOM - now;
      for (uint i = LOCAL_ID(0); i < width; i += GROUP_SIZE(0)) {
        uint key = pool_keys[now + i];
        uint row = pool_rows[now + i];
        uint low = 0u;
        uint high = nearer;
        while (low < high) {
          uint middle = (low + high) / 2u;
          if (is_nearer(sorted_keys[middle], sorted_rows[middle], key, row & UNMARKED)) {
            low = middle + 1u;
          } else {
            high = middle;
          }
        }
        if (i + low < width) {
          pool_keys[next_pool + i + low] = key;
          pool_rows[next_pool + i + low] = row;
        }
      }
      for (uint i = LOCAL_ID(0); i < nearer; i += GROUP_SIZE(0)) {
        uint low = 0u;
        uint high = width;
        while (low < high) {
          uint middle = (low + high) / 2u;
          uint at = now + middle;
          if (is_nearer(pool_keys[at], pool_rows[at] & UNMARKED, sorted_keys[i], sorted_rows[i])) {
            low = middle + 1u;
          } else {
            high = middle;
          }
        }
        if (i + low < width) {
          pool_keys[next_pool + i + low] = sorted_keys[i];
          pool_rows[next_pool + i + low] = sorted_rows[i];
        }
      }
      BARRIER();
      now = next_pool;
    }
    for (uint i = LOCAL_ID(0); i < width; i += GROUP_SIZE(0)) {
      if ((pool_rows[now + i] & MARK) == 0u) { ATOMIC_MIN_U32(state, 2, i); }
    }
    uint next = UNIFORM_LOAD(state, 2);
    going = next != NOTHING;
    if (going) {
      links_at = links_offset + pool_rows[now + next] * links_stride;
      uint key = UNIFORM_LOAD(pool_keys, now + nearest - 1u);
      uint next_key = UNIFORM_LOAD(pool_keys, now + next);
      if (factor > 0.0f && key < NAN_KEY) { going = next_key <= distance_key(factor * AS_F32(key)); }
    }
    at_entries = false;
    BARRIER();
    if (going && LOCAL_ID(0) == 0u) { pool_rows[now + next] = pool_rows[now + next] | MARK; }
  }
  for (uint i = LOCAL_ID(0); i < width; i += GROUP_SIZE(0)) {
    uint key = pool_keys[now + i];
    int row = -1;
    if (key != NOTHING) { row = AS_I32(pool_rows[now + i] & UNMARKED); }
    STORE_found(found_offset + query * found_stride + i, row);
    STORE_distances(distances_offset + query * distances_stride + i, key_distance(key));
  }
  if (LOCAL_ID(0) == 0u) { STORE_scored(scored_offset + query * scored_stride, AS_I32(measured)); }
  BARRIER();
)";

KernelSource search_source(std::uint32_t group, std::uint32_t room, std::uint32_t list) {
  KernelSource source;
  source.name = "graph_search";
  source.buffers = {{"x", DType::float32, Access::read},    {"q", DType::float32, Access::read},
                    {"links", DType::int32, Access::read},  {"entries", DType::int32, Access::read},
                    {"found", DType::int32, Access::write}, {"distances", DType::float32, Access::write},
                    {"scored", DType::int32, Access::write}};
  source.shared = {{"pool_keys", DType::uint32, 2 * room}, {"pool_rows", DType::uint32, 2 * room},
                   {"list", DType::uint32, list},          {"met", DType::uint32, list},
                   {"near_keys", DType::uint32, list},     {"near_rows", DType::uint32, list},
                   {"sorted_keys", DType::uint32, list},   {"sorted_rows", DType::uint32, list},
                   {"partial", DType::float32, group},     {"state", DType::uint32, 3}};
  complete_graph_source(source, {"chunk", "queries", "rows", "columns", "degree", "entry_count", "width", "nearest"},
                        group);
  source.defines.insert(source.defines.end(),
                        {{"ROOM", fmt::format("{}u", room)}, {"MARK", "0x80000000u"}, {"UNMARKED", "0x7fffffffu"}});
  source.body =
      graph_body("query", "queries", substitute(search_body, {{"$DISTANCE", graph_distance("LOAD_q(query_at + ")}}));
  return source;
}

LaunchPlan plan_search(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& q = call.views[1];
  const std::uint64_t degree = call.views[2].columns;
  const std::uint64_t entries = call.views[3].columns;
  const std::uint64_t width = call.views[4].columns;
  const std::uint32_t group = graph_group(device);
  const std::uint32_t room = graph_room(width);
  const std::uint32_t list = graph_room(std::max(degree, entries));
  const auto nearest = std::min<std::uint64_t>(static_cast<std::uint64_t>(call.parameters[0].integer), width);
  const double epsilon = call.parameters[1].real;
  PlannedLaunch launch =
      graph_launch(call, device, q.rows, 4 * std::uint64_t{room} + 6 * std::uint64_t{list} + group + 3,
                   {q.rows, x.rows, x.columns, degree, entries, width, nearest}, static_cast<float>(epsilon * epsilon));
  launch.key = fmt::format("graph_search {} {} {}", group, room, list);
  launch.source = [=] { return search_source(group, room, list); };
  return only(std::move(launch));
}

void check_search(const OperationCall& call) {
  const View& x = call.views[0];
  const View& q = call.views[1];
  expect_vectors(call);
  expect_shape(call, 1, q.rows, x.columns, "vectors as long as those of 'x'");
  expect_shape(call, 2, x.rows, call.views[2].columns, "links of each row of 'x'");
  expect_shape(call, 3, 1, call.views[3].columns, "one list for all queries");
  expect_columns(call, 2, graph_list_max);
  expect_columns(call, 3, graph_list_max);
  expect_columns(call, 4, graph_pool_max);
  expect_shape(call, 4, q.rows, call.views[4].columns, "a row for each row of 'q'");
  expect_shape(call, 5, q.rows, call.views[4].columns, "a distance for each element of 'found'");
  expect_shape(call, 6, q.rows, 1, "a number for each row of 'q'");
}

OperationCost search_cost(const OperationCall& call) {
  // The number of visited rows depends on the graph; estimated as the whole beam, with a third of the links new.
  const View& found = call.views[4];
  const double rows = static_cast<double>(found.elements()) * static_cast<double>(call.views[2].columns) / 3;
  const auto columns = static_cast<double>(call.views[0].columns);
  return {rows * 3 * columns, rows * 4 * columns + bytes_of(call.views.last(3))};
}

// Shapes that use every beam size with both sizes of neighbor lists.
std::vector<std::vector<std::array<std::uint64_t, 2>>> search_samples() {
  std::vector<std::vector<std::array<std::uint64_t, 2>>> samples;
  for (const std::uint64_t width : {40U, 160U, 512U}) {
    for (const std::uint64_t degree : {8U, 100U}) {
      samples.push_back({{50, 7}, {3, 7}, {50, degree}, {1, 4}, {3, width}, {3, width}, {3, 1}});
    }
  }
  return samples;
}

}  // namespace

void define_graph_search(std::vector<Operation>& operations) {
  Operation search;
  search.name = "graph_search";
  search.summary =
      "Best-first beam search over a neighbor graph, for each row of q. links holds the neighbors of each row of x; "
      "entries that are no row of x are ignored. The search starts at entry_points and expands the nearest unvisited "
      "row, keeping the rows nearest to q in a beam as wide as found has columns. It stops when the whole beam is "
      "visited, or when the nearest unvisited row is farther than epsilon times the distance of the k-th best (epsilon "
      "0: never). found and distances become the beam and its squared Euclidean distances, nearest first, the lower "
      "row of equals first, padded with -1 and infinity; scored becomes the number of distances computed. At most 512 "
      "columns of found and 256 neighbors.";
  search.operands = {{"x", Access::read, {DType::float32}},    {"q", Access::read, {DType::float32}},
                     {"links", Access::read, {DType::int32}},  {"entry_points", Access::read, {DType::int32}},
                     {"found", Access::write, {DType::int32}}, {"distances", Access::write, {DType::float32}},
                     {"scored", Access::write, {DType::int32}}};
  search.parameters = {{"k", true, 1, INT32_MAX, 1}, {"epsilon", false, 0, anything, 0}};
  search.check = check_search;
  search.when_empty = [](Stream& stream, const OperationCall& call) {
    fill_with_none(stream, call.views[4], call.views[5]);
    run(stream, "fill", {call.views[6]}, {0});
  };
  search.plan = plan_search;
  search.cost = search_cost;
  search.samples = search_samples();
  search.splits = split_by_rows({1, 4, 5, 6});
  operations.push_back(std::move(search));
}

}  // namespace vectis::inline v0_1
