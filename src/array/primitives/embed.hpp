// Placing an array inside a larger one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>

#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// Positions along an axis: start, start + step, ...
struct Positions {
  std::size_t axis = 0;
  std::int64_t start = 0;
  std::int64_t step = 1;
};

// Returns an array of extent `extent` along the axis of `at` that has `x` at these positions, and `fill` elsewhere: the
// reverse of slice. All positions must exist.
Tensor embed(const Tensor& x, std::int64_t extent, const Positions& at, const Scalar& fill,
             const std::source_location& where);

}  // namespace vectis::inline v0_1::array
