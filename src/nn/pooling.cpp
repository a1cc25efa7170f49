#include "vectis/nn/pooling.hpp"

#include <fmt/format.h>

#include "nn/check.hpp"
#include "vectis/array/neural.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::nn {

Tensor MaxPool::forward(const Tensor& x, const Mode& /*mode*/) const {
  return array::max_pool(x, kernel, {.steps = options.stride, .padding = options.padding});
}

Tensor AveragePool::forward(const Tensor& x, const Mode& /*mode*/) const {
  return array::mean_pool(x, kernel, {.steps = options.stride, .padding = options.padding});
}

Tensor GlobalAveragePool::forward(const Tensor& x, const Mode& /*mode*/) const {
  if (x.rank() < 3) {
    throw_invalid("global_average_pool", fmt::format("expected an array (batch, channels, extents ...), received shape "
                                                     "{}; reshape it",
                                                     to_string(x.shape())));
  }
  Shape axes;
  for (std::size_t axis = 2; axis < x.rank(); ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return mean(x, axes);
}

Tensor Flatten::forward(const Tensor& x, const Mode& /*mode*/) const {
  if (first_axis < 0 || first_axis > static_cast<std::int64_t>(x.rank())) {
    throw_invalid("flatten", fmt::format("axis {} does not exist in shape {}; give one that does", first_axis,
                                         to_string(x.shape())));
  }
  Shape shape(std::span(x.shape().begin(), static_cast<std::size_t>(first_axis)));
  std::int64_t joined = 1;  // computed here: -1 cannot be when an extent is 0
  for (auto axis = static_cast<std::size_t>(first_axis); axis < x.rank(); ++axis) joined *= x.shape()[axis];
  shape.push_back(joined);
  return x.reshape(shape);
}

}  // namespace vectis::inline v0_1::nn
