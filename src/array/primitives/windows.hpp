// Sliding windows over the last axes of an array.
#pragma once

#include <cstddef>
#include <source_location>
#include <string_view>

#include "vectis/array/shape.hpp"
#include "vectis/array/tensor.hpp"

namespace vectis::inline v0_1::array {

// The windows over the last axes of an array, one number for each of these axes.
struct WindowRule {
  Shape sizes;      // elements of a window
  Shape steps;      // from one window to the next
  Shape dilations;  // from one element of a window to the next
};

// Returns how many positions windows have along each of the last axes, whose extents are `extents` with their padding;
// `first` is the first of these axes. Throws InvalidInput, naming `op`, when a window does not fit.
Shape window_positions(std::string_view op, const Shape& extents, std::size_t first, const WindowRule& rule);

// Returns a view of all windows: the axes before, then the positions of the windows, then their elements. Throws
// InvalidInput, naming `op`, when a window does not fit.
Tensor windows_of(std::string_view op, const Tensor& x, const WindowRule& rule, const std::source_location& where);

}  // namespace vectis::inline v0_1::array
