#include "vectis/nn/convolution.hpp"

#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/initialization.hpp"

namespace vectis::inline v0_1::nn {

namespace {

std::string name_of(std::size_t axes) { return fmt::format("conv{}d", axes); }

}  // namespace

Convolution::Convolution(std::size_t axes, std::int64_t inputs, std::int64_t outputs, const Shape& kernel,
                         Generator& random, const ConvolutionOptions& given)
    : options(given) {
  const std::string name = name_of(axes);
  check_min(name, "the number of input channels", inputs);
  check_min(name, "the number of output channels", outputs);
  check_min(name, "the number of groups", options.groups);
  if (inputs % options.groups != 0 || outputs % options.groups != 0) {
    throw_invalid(name, fmt::format("{} input and {} output channels do not divide into {} groups; change them", inputs,
                                    outputs, options.groups));
  }
  if (kernel.rank() != 1 && kernel.rank() != axes) {
    throw_invalid(name,
                  fmt::format("the kernel has {} numbers for {} axes; give one, or one for each", kernel.rank(), axes));
  }
  Shape shape = {outputs, inputs / options.groups};
  for (std::size_t axis = 0; axis < axes; ++axis) shape.push_back(kernel[kernel.rank() == 1 ? 0 : axis]);
  for (std::size_t axis = 2; axis < shape.rank(); ++axis) check_min(name, "an extent of the kernel", shape[axis]);
  const std::int64_t fan = fans_of(shape).in;
  weight = fan_uniform(shape, fan, random);
  if (options.bias) bias = fan_uniform({outputs}, fan, random);
}

Tensor Convolution::forward(const Tensor& x, const Mode& /*mode*/) const {
  const std::size_t axes = weight.rank() - 2;
  const std::string name = name_of(axes);
  check_rank(name, x, axes + 2, fmt::format("(batch, channels, {} extents)", axes));
  check_extent(name, x, 1, weight.extent(1) * options.groups, "channels");
  Tensor y = array::conv(
      x, weight,
      {.steps = options.stride, .padding = options.padding, .dilations = options.dilation, .groups = options.groups});
  if (bias.is_empty()) return y;
  Shape along_channels(axes + 1, 1);
  along_channels[0] = -1;
  return y + bias.reshape(along_channels);
}

void Convolution::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

}  // namespace vectis::inline v0_1::nn
