// halve: every element times one half. The example of CONTRIBUTING.md, which tools/add_operation.py puts into
// src/kernel/operations/halve.cpp of a copy of the tree.
#include <fmt/format.h>

#include "kernel/bodies/definition.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

constexpr const char* body = R"(
uint begin = GROUP_ID(0) * chunk;
uint count = UMIN(chunk, items - begin);
for (uint t = LOCAL_ID(0); t < count; t += GROUP_SIZE(0)) {
  uint row = (begin + t) / columns;
  uint col = begin + t - row * columns;
  STORE_y(y_offset + row * y_stride + col, 0.5f * LOAD_x(x_offset + row * x_stride + col));
}
)";

KernelSource source(std::uint32_t group) {
  KernelSource result;
  result.name = "halve";
  result.buffers = {{"x", Element::f32, Access::read}, {"y", Element::f32, Access::write}};
  for (const char* scalar : {"chunk", "items", "columns", "x_offset", "x_stride", "y_offset", "y_stride"}) {
    result.scalars.push_back({scalar, Element::u32});
  }
  result.group = {group, 1, 1};
  result.body = body;
  return result;
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& out = call.views[1];
  const std::uint32_t group = group_items(device, 256);
  const Spread work = spread(x.elements(), group);
  LaunchPlan result;
  result.launches.push_back({fmt::format("halve {}", group),
                             [=] { return source(group); },
                             {.groups = {work.groups, 1, 1}, .group = {group, 1, 1}},
                             {0, 1},
                             {work.chunk, index32(x.elements()), index32(x.columns), index32(x.offset),
                              index32(x.stride), index32(out.offset), index32(out.stride)}});
  return result;
}

}  // namespace

void define_halve(std::vector<Operation>& operations) {
  Operation halve;
  halve.name = "halve";
  halve.summary = "out becomes one half of x.";
  halve.operands = {{"x", Access::read, {DType::float32}}, {"out", Access::write, {DType::float32}}};
  halve.check = [](const OperationCall& call) {
    expect_shape(call, 1, call.views[0].rows, call.views[0].columns, "as 'x' is");
  };
  halve.plan = plan;
  halve.cost = [](const OperationCall& call) {
    return OperationCost{static_cast<double>(call.views[0].elements()), bytes_of(call.views)};
  };
  halve.samples = {{{3, 5}, {3, 5}}};
  operations.push_back(std::move(halve));
}

}  // namespace vectis::inline v0_1
