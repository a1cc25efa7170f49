// gather and scatter: copy rows by index.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/packing.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// --- gather ----------------------------------------------------------------------------------------------------------

KernelSource gather_source(std::uint32_t lanes, std::uint32_t group) {
  std::vector<ScalarParameter> scalars = word_scalars();
  scalars.insert(scalars.end(), {{"x_offset", DType::uint32},
                                 {"x_stride", DType::uint32},
                                 {"x_rows", DType::uint32},
                                 {"index_offset", DType::uint32}});
  return {.name = "gather",
          .buffers = {{"x", raw_element(lanes), Access::read},
                      {"index", DType::int32, Access::read},
                      {"y", raw_element(lanes), Access::write}},
          .scalars = std::move(scalars),
          .shared = {},
          .group = {group, 1, 1},
          .defines = raw_defines(lanes),
          .functions = {},
          .body = word_body(
              lanes, copy_elements("x_offset + chosen * x_stride + col",
                                   "uint chosen = AS_U32(LOAD_index(index_offset + row));\n", "chosen < x_rows")),
          .overrides = {}};
}

LaunchPlan plan_gather(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& out = call.views[2];
  const std::uint32_t lanes = lanes_of(out.type);
  const std::uint32_t group = group_items(device, 256);
  WordLaunch launch = word_launch(out, group);
  launch.scalars.insert(launch.scalars.end(),
                        {index32(x.offset), index32(x.stride), index32(x.rows), index32(call.views[1].offset)});
  return only({fmt::format("gather {} {}", lanes, group),
               [=] { return gather_source(lanes, group); },
               launch.shape,
               {0, 1, 2},
               std::move(launch.scalars)});
}

void check_gather(const OperationCall& call) {
  const View& index = call.views[1];
  expect_shape(call, 1, 1, index.columns, "one row of numbers");
  expect_shape(call, 2, index.columns, call.views[0].columns, "a row of 'x' for each number in 'index'");
}

// --- scatter: first finds for each row of out the highest row of x with its index, then copies -----------------------

KernelSource clear_source(std::uint32_t group) {
  return {.name = "scatter_clear",
          .buffers = {{"winner", DType::int32, Access::write}},
          .scalars = {{"chunk", DType::uint32}, {"count", DType::uint32}},
          .shared = {},
          .group = {group, 1, 1},
          .defines = {},
          .functions = {},
          .body = R"(
uint begin = GROUP_ID(0) * chunk;
uint own = UMIN(chunk, count - begin);
for (uint t = LOCAL_ID(0); t < own; t += GROUP_SIZE(0)) { STORE_winner(begin + t, -1); }
)",
          .overrides = {}};
}

KernelSource mark_source(std::uint32_t group) {
  return {.name = "scatter_mark",
          .buffers = {{"index", DType::int32, Access::read}, {"winner", DType::int32, Access::read_write}},
          .scalars = {{"chunk", DType::uint32},
                      {"count", DType::uint32},
                      {"index_offset", DType::uint32},
                      {"out_rows", DType::uint32}},
          .shared = {},
          .group = {group, 1, 1},
          .defines = {},
          .functions = {},
          .body = R"(
uint begin = GROUP_ID(0) * chunk;
uint own = UMIN(chunk, count - begin);
for (uint t = LOCAL_ID(0); t < own; t += GROUP_SIZE(0)) {
  uint m = begin + t;
  uint chosen = AS_U32(LOAD_index(index_offset + m));
  if (chosen < out_rows) { ATOMIC_MAX_I32(winner, chosen, AS_I32(m)); }
}
)",
          .overrides = {}};
}

KernelSource scatter_source(std::uint32_t lanes, std::uint32_t group) {
  std::vector<ScalarParameter> scalars = word_scalars();
  scalars.insert(scalars.end(), {{"x_offset", DType::uint32}, {"x_stride", DType::uint32}});
  return {.name = "scatter",
          .buffers = {{"x", raw_element(lanes), Access::read},
                      {"winner", DType::int32, Access::read},
                      {"y", raw_element(lanes), Access::read_write}},
          .scalars = std::move(scalars),
          .shared = {},
          .group = {group, 1, 1},
          .defines = raw_defines(lanes),
          .functions = {},
          .body = word_body(lanes, copy_elements("x_offset + AS_U32(chosen) * x_stride + col",
                                                 "int chosen = LOAD_winner(row);\nkeep = chosen < 0;\n", "!keep")),
          .overrides = {}};
}

LaunchPlan plan_scatter(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& index = call.views[1];
  const View& out = call.views[2];
  const std::uint32_t lanes = lanes_of(out.type);
  const std::uint32_t group = group_items(device, 256);
  const std::size_t winner = call.views.size();
  const GridPartition cleared = partition_grid(out.rows, group);
  const GridPartition marked = partition_grid(index.columns, group);
  WordLaunch launch = word_launch(out, group);
  launch.scalars.insert(launch.scalars.end(), {index32(x.offset), index32(x.stride)});
  LaunchPlan plan;
  plan.temporary_bytes = {out.rows * sizeof(std::int32_t)};
  plan.launches.push_back({fmt::format("scatter clear {}", group),
                           [=] { return clear_source(group); },
                           {.grid = {cleared.groups, 1, 1}, .block = {group, 1, 1}},
                           {winner},
                           {cleared.chunk, index32(out.rows)}});
  plan.launches.push_back({fmt::format("scatter mark {}", group),
                           [=] { return mark_source(group); },
                           {.grid = {marked.groups, 1, 1}, .block = {group, 1, 1}},
                           {1, winner},
                           {marked.chunk, index32(index.columns), index32(index.offset), index32(out.rows)}});
  plan.launches.push_back({fmt::format("scatter {} {}", lanes, group),
                           [=] { return scatter_source(lanes, group); },
                           launch.shape,
                           {0, winner, 2},
                           std::move(launch.scalars)});
  return plan;
}

void check_scatter(const OperationCall& call) {
  const View& x = call.views[0];
  if (x.rows > INT32_MAX) {
    throw_invalid(call, fmt::format("'x' has {} rows, scatter takes at most {}; split the view", x.rows, INT32_MAX));
  }
  expect_shape(call, 1, 1, x.rows, "a number for each row of 'x'");
  expect_shape(call, 2, call.views[2].rows, x.columns, "rows as long as those of 'x'");
}

// Rows are read and written once; how much of x is read depends on the indices.
OperationCost cost(const OperationCall& call) {
  const View& moved = call.views[call.operation->name == "gather" ? 2 : 0];
  return {0, 2 * bytes_of({&moved, 1}) + bytes_of({&call.views[1], 1})};
}

}  // namespace

void define_gather_scatter(std::vector<Operation>& operations) {
  operations.push_back({.name = "gather",
                        .summary = "Row m of out becomes row index[m] of x, or zeros if x has no such row.",
                        .operands = {{"x", Access::read, storage_types()},
                                     {"index", Access::read, {DType::int32}},
                                     {"out", Access::write, storage_types()}},
                        .parameters = {},
                        .types_agree = same_type<0, 2>,
                        .check = check_gather,
                        .when_empty = {},
                        .plan = plan_gather,
                        .cost = cost,
                        .samples = {{{3, 5}, {1, 2}, {2, 5}}},
                        .splits = [](const OperationCall&) -> std::vector<CallSplit> {
                          return {{{{1, SplitAxis::columns}, {2, SplitAxis::rows}}}};
                        }});
  operations.push_back(
      {.name = "scatter",
       .summary = "Row index[m] of out becomes row m of x, the highest m among equal indices; indices out of range are "
                  "skipped, and other rows keep their elements.",
       .operands = {{"x", Access::read, storage_types()},
                    {"index", Access::read, {DType::int32}},
                    {"out", Access::read_write, storage_types()}},
       .parameters = {},
       .types_agree = same_type<0, 2>,
       .check = check_scatter,
       .when_empty = {},
       .plan = plan_scatter,
       .cost = cost,
       .samples = {{{2, 5}, {1, 2}, {3, 5}}},
       .splits = [](const OperationCall&) -> std::vector<CallSplit> {
         return {{{{0, SplitAxis::rows}, {1, SplitAxis::columns}}}};  // the part with the highest rows comes last
       }});
}

}  // namespace vectis::inline v0_1
