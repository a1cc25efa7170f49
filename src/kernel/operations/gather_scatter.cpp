// gather and scatter: copy rows by index.
#include <fmt/format.h>

#include <initializer_list>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/packing.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// Adds `names` to the scalars of a kernel, as uint32.
void add_scalars(KernelSource& source, std::initializer_list<const char*> names) {
  for (const char* name : names) source.scalars.push_back({name, DType::uint32});
}

// A kernel that copies rows of the buffer `x` to rows of `y` as `text` says; `rows` is a buffer of int32 that says
// which. It takes `scalars` after those of word_body().
KernelSource row_source(const char* name, const char* rows, Access out, std::initializer_list<const char*> scalars,
                        const WordText& text, std::uint32_t lanes, std::uint32_t group) {
  KernelSource source;
  source.name = name;
  source.buffers = {
      {"x", raw_element(lanes), Access::read}, {rows, DType::int32, Access::read}, {"y", raw_element(lanes), out}};
  source.scalars = word_scalars();
  add_scalars(source, scalars);
  source.group = {group, 1, 1};
  source.defines = raw_defines(lanes);
  source.body = word_body(lanes, text);
  return source;
}

// --- gather ----------------------------------------------------------------------------------------------------------

KernelSource gather_source(std::uint32_t lanes, std::uint32_t group) {
  const WordText text = copy_elements("x_offset + chosen * x_stride + col",
                                      "uint chosen = AS_U32(LOAD_index(index_offset + row));\n", "chosen < x_rows");
  return row_source("gather", "index", Access::write, {"x_offset", "x_stride", "x_rows", "index_offset"}, text, lanes,
                    group);
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

// A kernel that runs `statements` for each item `m` of `count`, with one work-item per item. It takes `scalars` after
// the grid partition.
KernelSource item_source(const char* name, std::vector<BufferParameter> buffers,
                         std::initializer_list<const char*> scalars, const char* statements, std::uint32_t group) {
  KernelSource source;
  source.name = name;
  source.buffers = std::move(buffers);
  add_scalars(source, {"chunk", "count"});
  add_scalars(source, scalars);
  source.group = {group, 1, 1};
  source.body = fmt::format(R"(
uint begin = GROUP_ID(0) * chunk;
uint own = UMIN(chunk, count - begin);
for (uint t = LOCAL_ID(0); t < own; t += GROUP_SIZE(0)) {{
  uint m = begin + t;
{}
}}
)",
                            statements);
  return source;
}

KernelSource clear_source(std::uint32_t group) {
  return item_source("scatter_clear", {{"winner", DType::int32, Access::write}}, {}, "  STORE_winner(m, -1);", group);
}

KernelSource mark_source(std::uint32_t group) {
  constexpr const char* statements = R"(
  uint chosen = AS_U32(LOAD_index(index_offset + m));
  if (chosen < out_rows) { ATOMIC_MAX_I32(winner, chosen, AS_I32(m)); }
)";
  return item_source("scatter_mark",
                     {{"index", DType::int32, Access::read}, {"winner", DType::int32, Access::read_write}},
                     {"index_offset", "out_rows"}, statements, group);
}

KernelSource scatter_source(std::uint32_t lanes, std::uint32_t group) {
  const WordText text = copy_elements("x_offset + AS_U32(chosen) * x_stride + col",
                                      "int chosen = LOAD_winner(row);\nkeep = chosen < 0;\n", "!keep");
  return row_source("scatter", "winner", Access::read_write, {"x_offset", "x_stride"}, text, lanes, group);
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

// What both operations have in common.
Operation define(const char* name, const char* summary, Access out) {
  Operation operation;
  operation.name = name;
  operation.summary = summary;
  operation.operands = {
      {"x", Access::read, storage_types()}, {"index", Access::read, {DType::int32}}, {"out", out, storage_types()}};
  operation.types_agree = same_type<0, 2>;
  operation.cost = cost;
  return operation;
}

}  // namespace

void define_gather_scatter(std::vector<Operation>& operations) {
  Operation gather =
      define("gather", "Row m of out becomes row index[m] of x, or zeros if x has no such row.", Access::write);
  gather.check = check_gather;
  gather.plan = plan_gather;
  gather.when_empty = [](Stream& stream, const OperationCall& call) {  // without rows of x, all are zeros
    run(stream, "fill", {call.views[2]}, {0});
  };
  gather.samples = {{{3, 5}, {1, 2}, {2, 5}}};
  gather.splits = [](const OperationCall&) -> std::vector<CallSplit> {
    return {{{{1, SplitAxis::columns}, {2, SplitAxis::rows}}}};
  };
  operations.push_back(std::move(gather));
  Operation scatter =
      define("scatter",
             "Row index[m] of out becomes row m of x, the highest m among equal indices; indices out of range are "
             "skipped, and other rows keep their elements.",
             Access::read_write);
  scatter.check = check_scatter;
  scatter.plan = plan_scatter;
  scatter.samples = {{{2, 5}, {1, 2}, {3, 5}}};
  scatter.splits = [](const OperationCall&) -> std::vector<CallSplit> {
    return {{{{0, SplitAxis::rows}, {1, SplitAxis::columns}}}};  // the part with the highest rows comes last
  };
  operations.push_back(std::move(scatter));
}

}  // namespace vectis::inline v0_1
