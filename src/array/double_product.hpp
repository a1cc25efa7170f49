// The product of matrices in double precision.
#pragma once

#include <cstddef>

#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::array {

// Writes the product of `a`, m rows of k doubles, and `b`, k rows of n doubles, to `out`, all row-major without gaps.
// The result does not depend on the number of threads. Throws std::bad_alloc when memory is short.
void multiply_doubles(Executor& executor, const double* a, const double* b, std::size_t m, std::size_t k, std::size_t n,
                      double* out);

}  // namespace vectis::inline v0_1::array
