// copy: bit by bit, between places of any alignment.
#include <fmt/format.h>

#include "kernel/bodies/definition.hpp"
#include "kernel/bodies/words.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

KernelSource source(std::uint32_t lanes, std::uint32_t group) {
  std::vector<ScalarParameter> scalars = word_scalars();
  scalars.insert(scalars.end(), {{"x_offset", Element::u32}, {"x_stride", Element::u32}});
  return {.name = "copy",
          .buffers = {{"x", raw_element(lanes), Access::read}, {"y", raw_element(lanes), Access::write}},
          .scalars = std::move(scalars),
          .shared = {},
          .group = {group, 1, 1},
          .defines = raw_defines(lanes),
          .functions = {},
          .body = word_body(lanes, copy_elements("x_offset + row * x_stride + col")),
          .overrides = {}};
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View flat_x = flattened(call.views[0]);
  const View flat_out = flattened(call.views[1]);
  const bool flat = flat_x.rows == flat_out.rows;
  const View& x = flat ? flat_x : call.views[0];
  const View& out = flat ? flat_out : call.views[1];
  const std::uint32_t lanes = lanes_of(out.type);
  const std::uint32_t group = group_items(device, 256);
  WordLaunch launch = word_launch(out, group);
  launch.scalars.insert(launch.scalars.end(), {index32(x.offset), index32(x.stride)});
  return {{},
          {{fmt::format("copy {} {}", lanes, group),
            [=] { return source(lanes, group); },
            launch.shape,
            {0, 1},
            std::move(launch.scalars)}}};
}

}  // namespace

void define_copy(std::vector<Operation>& operations) {
  operations.push_back({.name = "copy",
                        .summary = "out becomes x, bit by bit.",
                        .operands = {{"x", Access::read, storage_types()}, {"out", Access::write, storage_types()}},
                        .parameters = {},
                        .types_agree = same_type<0, 1>,
                        .check =
                            [](const OperationCall& call) {
                              expect_shape(call, 1, call.views[0].rows, call.views[0].columns, "as 'x' is");
                            },
                        .when_empty = {},
                        .plan = plan,
                        .cost = [](const OperationCall& call) { return OperationCost{0, bytes_of(call.views)}; },
                        .samples = {{{3, 5}, {3, 5}}}});
}

}  // namespace vectis::inline v0_1
