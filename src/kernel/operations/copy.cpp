// copy: bitwise, between views of any alignment.
#include "kernel/templates/definition.hpp"
#include "kernel/templates/packing.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View flat_x = flattened(call.views[0]);
  const View flat_out = flattened(call.views[1]);
  const bool flat = flat_x.rows == flat_out.rows;
  const auto text = [] { return copy_elements("x_offset + row * x_stride + col"); };
  return only(moving_launch("copy", flat ? flat_x : call.views[0], flat ? flat_out : call.views[1], text, device));
}

}  // namespace

void define_copy(std::vector<Operation>& operations) {
  operations.push_back({.name = "copy",
                        .summary = "out becomes a bitwise copy of x.",
                        .operands = {{"x", Access::read, storage_types()}, {"out", Access::write, storage_types()}},
                        .parameters = {},
                        .types_agree = same_type<0, 1>,
                        .check = expect_shape_of_x,
                        .when_empty = {},
                        .plan = plan,
                        .cost = cost_of_moving,
                        .samples = {{{3, 5}, {3, 5}}},
                        .splits = split_anywhere({0, 1})});
}

}  // namespace vectis::inline v0_1
