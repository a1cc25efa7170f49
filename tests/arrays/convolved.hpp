// The reference of convolutions and pools: loops over windows.
#pragma once

#include <cstdint>

#include "tests/arrays/dense.hpp"

namespace vectis::test {

// The element of x at `index`, or `outside` beyond the extents.
inline double element_or(const Dense& x, const Shape& index, double outside) {
  for (std::size_t axis = 0; axis < index.rank(); ++axis) {
    if (index[axis] < 0 || index[axis] >= x.shape[axis]) return outside;
  }
  return x.at(index);
}

// Windows over the axes after batch and channels, one number for each.
struct Windows {
  Shape sizes;
  Shape steps;
  Shape padding;
  Shape dilations;
};

inline Shape positions_of(const Dense& x, const Windows& w) {
  Shape positions;
  for (std::size_t i = 0; i < w.sizes.rank(); ++i) {
    positions.push_back((x.shape[2 + i] + 2 * w.padding[i] - (w.sizes[i] - 1) * w.dilations[i] - 1) / w.steps[i] + 1);
  }
  return positions;
}

// Convolution by loops over windows.
inline Dense convolved(const Dense& x, const Dense& weights, const Windows& w, std::int64_t groups) {
  Shape shape = {x.shape[0], weights.shape[0]};
  for (const std::int64_t extent : positions_of(x, w)) shape.push_back(extent);
  const std::int64_t channels = weights.shape[1];
  const std::int64_t outputs = weights.shape[0] / groups;
  return dense(shape, [&](const Shape& at) {
    double sum = 0;
    Shape window = {channels};
    for (const std::int64_t size : w.sizes) window.push_back(size);
    for_each_index(window, [&](const Shape& k) {
      Shape source = {at[0], at[1] / outputs * channels + k[0]};
      Shape filter = {at[1], k[0]};
      for (std::size_t i = 0; i < w.sizes.rank(); ++i) {
        source.push_back(at[2 + i] * w.steps[i] + k[1 + i] * w.dilations[i] - w.padding[i]);
        filter.push_back(k[1 + i]);
      }
      sum += element_or(x, source, 0) * weights.at(filter);
    });
    return sum;
  });
}

}  // namespace vectis::test
