#include "vectis/nn/initialization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nn/check.hpp"

namespace vectis::inline v0_1::nn {

using array::Generator;
using array::Tensor;

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2) {
    throw_invalid("initialization",
                  fmt::format("shape {} has no inputs and outputs; give two axes or more", to_string(shape)));
  }
  std::int64_t window = 1;
  for (std::size_t axis = 2; axis < shape.rank(); ++axis) window *= shape[axis];
  return {shape[1] * window, shape[0] * window};
}

Tensor kaiming_uniform(const Shape& shape, Generator& random, double gain) {
  const double bound = gain * std::sqrt(3 / static_cast<double>(std::max<std::int64_t>(fans_of(shape).in, 1)));
  return random.uniform(shape, -bound, bound);
}

Tensor kaiming_normal(const Shape& shape, Generator& random, double gain) {
  return random.normal(shape, 0, gain / std::sqrt(static_cast<double>(std::max<std::int64_t>(fans_of(shape).in, 1))));
}

Tensor xavier_uniform(const Shape& shape, Generator& random, double gain) {
  const Fans fans = fans_of(shape);
  const double bound = gain * std::sqrt(6 / static_cast<double>(std::max<std::int64_t>(fans.in + fans.out, 1)));
  return random.uniform(shape, -bound, bound);
}

Tensor xavier_normal(const Shape& shape, Generator& random, double gain) {
  const Fans fans = fans_of(shape);
  return random.normal(shape, 0,
                       gain * std::sqrt(2 / static_cast<double>(std::max<std::int64_t>(fans.in + fans.out, 1))));
}

Tensor fan_uniform(const Shape& shape, std::int64_t fan, Generator& random) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(fan, 1)));
  return random.uniform(shape, -bound, bound);
}

}  // namespace vectis::inline v0_1::nn
