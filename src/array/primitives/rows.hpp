// Primitives of float32 arrays in host memory that compute one row of the last axis after the other.
#pragma once

#include <cstddef>
#include <memory>

#include "array/lane.hpp"
#include "array/node.hpp"
#include "array/strided.hpp"

namespace vectis::inline v0_1::array {

// Allocates `node` and calls kernel(first, count, out) for each row of `node`: the position of its first element, the
// number of elements and where its results are written.
template <class Kernel>
void compute_rows(Node& node, const Kernel& kernel) {
  node.lane->allocate(node);
  if (node.elements() == 0) return;
  const auto columns = static_cast<std::size_t>(node.shape[node.shape.rank() - 1]);
  const std::size_t rows = static_cast<std::size_t>(node.elements()) / columns;
  auto* const out = node.data<float>();
  constexpr std::size_t elements_per_task_min = 1 << 13;
  node.lane->executor().parallel_for(rows, elements_per_task_min / columns + 1,
                                     [&](std::size_t begin, std::size_t end) {
                                       for (std::size_t row = begin; row < end; ++row)
                                         kernel(row * columns, columns, out + row * columns);
                                     });
}

// Returns the elements of `x` without gaps: its own, or a copy that `keep` holds.
inline const float* floats_of(const Node& x, std::shared_ptr<Storage>& keep) {
  return reinterpret_cast<const float*>(contiguous_data(x, keep));
}

}  // namespace vectis::inline v0_1::array
