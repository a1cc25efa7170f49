// Sums of squares in double precision.
#pragma once

#include <cstddef>

namespace vectis::inline v0_1::graph {

[[nodiscard]] inline double squared_norm(const float* vector, std::size_t dim) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double{vector[i]} * double{vector[i]};
  return sum;
}

}  // namespace vectis::inline v0_1::graph
