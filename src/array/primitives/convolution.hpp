// Convolutions that the CPU computes as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>

#include "array/primitives/windows.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// How the windows of a convolution lie in its input.
struct ConvRule {
  WindowRule windows;
  Shape padding;  // on both sides of each axis
  std::int64_t groups = 1;
};

// Returns the convolution of `x` with `weights`, or nothing when the CPU's library of such operations is missing,
// switched off, or does not compute it: then compose it of other operations. Both arrays have one type and one lane,
// and channels that fit. Throws InvalidInput when a window does not fit.
std::optional<Tensor> convolve_natively(const Tensor& x, const Tensor& weights, const ConvRule& rule,
                                        const std::source_location& where);

}  // namespace vectis::inline v0_1::array
