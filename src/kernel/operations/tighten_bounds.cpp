// tighten_bounds: lowers each query's limit to its k-th smallest upper bound and keeps the candidates within it.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/order.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// One group per query. Bounds are compared as integer keys. Radix selection finds the k-th smallest key, eight bits per
// pass; `state` holds the number of
// candidates, the key of the previous limit, the number kept, the leading bits of the k-th key, and its rank among the
// keys with these bits. The bin of that rank is found among sixteen sums of sixteen bins, then among the bins of one:
// at most 48 dependent reads of shared memory instead of 256.
constexpr const char* tighten_body = R"(
uint begin = GROUP_ID(0) * chunk;
uint own = UMIN(chunk, queries - begin);
for (uint t = 0u; t < own; t++) {
  uint query = begin + t;
  uint bound0 = bounds_offset + query * bounds_stride;
  if (LOCAL_ID(0) == 0u) {
    state[0] = AS_U32(LOAD_counts(counts_offset + query * counts_stride));
    state[1] = order_key(LOAD_limits(limits_offset + query * limits_stride));
    state[2] = 0u;
    state[3] = 0u;
    state[4] = k;
  }
  uint found = UNIFORM_LOAD(state, 0);
  uint limit_before = state[1];
  uint stored = UMIN(found, capacity);
  if (stored >= k) {
    for (uint pass = 0u; pass < 4u; pass++) {
      uint shift = 24u - 8u * pass;
      uint leading = state[3];
      for (uint i = LOCAL_ID(0); i < 256u; i += GROUP_SIZE(0)) { having[i] = 0u; }
      BARRIER();
      for (uint i = LOCAL_ID(0); i < stored; i += GROUP_SIZE(0)) {
        uint key = order_key(LOAD_bounds(bound0 + 2u * i + 1u));
        if (pass == 0u || (key >> (shift + 8u)) == leading) { ATOMIC_ADD_U32(having, (key >> shift) & 255u, 1u); }
      }
      BARRIER();
      for (uint i = LOCAL_ID(0); i < 16u; i += GROUP_SIZE(0)) {
        uint sum = 0u;
        for (uint j = 0u; j < 16u; j++) { sum = sum + having[16u * i + j]; }
        sums[i] = sum;
      }
      BARRIER();
      if (LOCAL_ID(0) == 0u) {
        uint rank = state[4];
        uint next = 0u;
        while (sums[next] < rank) {
          rank = rank - sums[next];
          next = next + 1u;
        }
        next = 16u * next;
        while (having[next] < rank) {
          rank = rank - having[next];
          next = next + 1u;
        }
        state[3] = (leading << 8) | next;
        state[4] = rank;
      }
      BARRIER();
    }
  }
  uint limit = limit_before;
  if (stored >= k) { limit = UMIN(limit_before, state[3]); }
  if (found <= capacity) {
    for (uint i = LOCAL_ID(0); i < stored; i += GROUP_SIZE(0)) {
      float lower = LOAD_bounds(bound0 + 2u * i);
      if (IS_NAN(lower) || order_key(lower) <= limit) {
        uint slot = ATOMIC_ADD_U32(state, 2, 1u);
        if (slot < kept_capacity) {
          uint to = kept_bounds_offset + query * kept_bounds_stride + 2u * slot;
          STORE_kept(kept_offset + query * kept_stride + slot,
                     LOAD_candidates(candidates_offset + query * candidates_stride + i));
          STORE_kept_bounds(to, lower);
          STORE_kept_bounds(to + 1u, LOAD_bounds(bound0 + 2u * i + 1u));
        }
      }
    }
  }
  BARRIER();
  if (LOCAL_ID(0) == 0u) {
    if (found <= capacity) { STORE_counts(counts_offset + query * counts_stride, AS_I32(state[2])); }
    if (limit < limit_before) { STORE_limits(limits_offset + query * limits_stride, key_value(limit)); }
  }
  BARRIER();
}
)";

KernelSource tighten_source(std::uint32_t group) {
  KernelSource source;
  source.name = "tighten_bounds";
  source.buffers = {{"candidates", DType::int32, Access::read},   {"bounds", DType::float32, Access::read},
                    {"counts", DType::int32, Access::read_write}, {"limits", DType::float32, Access::read_write},
                    {"kept", DType::int32, Access::write},        {"kept_bounds", DType::float32, Access::write}};
  for (const char* scalar :
       {"chunk", "queries", "capacity", "kept_capacity", "k", "candidates_offset", "candidates_stride", "bounds_offset",
        "bounds_stride", "counts_offset", "counts_stride", "limits_offset", "limits_stride", "kept_offset",
        "kept_stride", "kept_bounds_offset", "kept_bounds_stride"}) {
    source.scalars.push_back({scalar, DType::uint32});
  }
  source.shared = {{"having", DType::uint32, 256}, {"sums", DType::uint32, 16}, {"state", DType::uint32, 5}};
  source.group = {group, 1, 1};
  source.functions = order_functions;
  source.body = tighten_body;
  return source;
}

LaunchPlan plan_tighten(const OperationCall& call, const DeviceInfo& device) {
  const std::uint32_t group = group_items(device, 256);
  const std::uint64_t queries = call.views[0].rows;
  const GridPartition work = partition_grid(queries, 1);
  PlannedLaunch launch;
  launch.key = fmt::format("tighten_bounds {}", group);
  launch.source = [group] { return tighten_source(group); };
  launch.shape = {.grid = {work.groups, 1, 1}, .block = {group, 1, 1}};
  launch.scalars = {work.chunk, index32(queries), index32(call.views[0].columns), index32(call.views[4].columns),
                    index32(static_cast<std::uint64_t>(call.parameters[0].integer))};
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    launch.buffers.push_back(i);
    launch.scalars.insert(launch.scalars.end(), {index32(call.views[i].offset), index32(call.views[i].stride)});
  }
  return {{}, {std::move(launch)}};
}

void check_tighten(const OperationCall& call) {
  const View& candidates = call.views[0];
  const View& kept = call.views[4];
  expect_shape(call, 1, candidates.rows, 2 * candidates.columns,
               "a lower and an upper bound for each element of 'candidates'");
  expect_shape(call, 2, candidates.rows, 1, "a number for each row of 'candidates'");
  expect_shape(call, 3, candidates.rows, 1, "a number for each row of 'candidates'");
  expect_shape(call, 4, candidates.rows, kept.columns, "a row for each row of 'candidates'");
  expect_shape(call, 5, candidates.rows, 2 * kept.columns, "a lower and an upper bound for each element of 'kept'");
  if (kept.columns == 0 || kept.columns > candidates.columns) {
    throw_invalid(call,
                  fmt::format("'kept' has {} columns, it must have from 1 to {}, those of 'candidates'; change it",
                              kept.columns, candidates.columns));
  }
}

}  // namespace

void define_tighten_bounds(std::vector<Operation>& operations) {
  Operation tighten;
  tighten.name = "tighten_bounds";
  tighten.summary =
      "For each row of the candidates scan_bounds found, limits becomes the k-th smallest upper bound if there are k, "
      "and the candidates whose lower bound is not above it are copied to kept and kept_bounds, in any order, their "
      "count to counts. If a count exceeds the columns of candidates, only the limit is lowered. bounds holds pairs "
      "(lower, upper).";
  tighten.operands = {
      {"candidates", Access::read, {DType::int32}},   {"bounds", Access::read, {DType::float32}},
      {"counts", Access::read_write, {DType::int32}}, {"limits", Access::read_write, {DType::float32}},
      {"kept", Access::read_write, {DType::int32}},   {"kept_bounds", Access::read_write, {DType::float32}}};
  tighten.parameters = {{"k", true, 1, INT32_MAX, 1}};
  tighten.check = check_tighten;
  tighten.plan = plan_tighten;
  tighten.cost = [](const OperationCall& call) {
    const double bytes = bytes_of(call.views);
    return OperationCost{static_cast<double>(call.views[1].elements()) * 6, bytes};
  };
  tighten.samples = {{{3, 300}, {3, 600}, {3, 1}, {3, 1}, {3, 40}, {3, 80}}};
  tighten.splits = split_by_rows({0, 1, 2, 3, 4, 5});
  operations.push_back(std::move(tighten));
}

}  // namespace vectis::inline v0_1
