// An array seen around some adjacent axes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectis/array/shape.hpp"

namespace vectis::inline v0_1::array {

// A shape as [outer, extent, inner]: the axes before, at and after a range of axes, each joined to one.
struct AroundAxis {
  AroundAxis(const Shape& shape, std::size_t axis) : AroundAxis(shape, axis, axis + 1) {}
  // Around the axes [first, last).
  AroundAxis(const Shape& shape, std::size_t first, std::size_t last) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      (axis < first ? outer : axis < last ? extent : inner) *= shape[axis];
    }
  }

  std::int64_t outer = 1;
  std::int64_t extent = 1;
  std::int64_t inner = 1;
};

}  // namespace vectis::inline v0_1::array
