// Loops over float32 elements of a row, compiled for each instruction set.
#pragma once

#include <cstddef>

namespace vectis::inline v0_1::array {

// Returns the sum of `count` elements in double precision. The order of the additions does not depend on the
// instruction set.
double sum_of_row(const float* row, std::size_t count);
// Returns the largest of `count` elements, at least one; NaN if there is one.
float max_of_row(const float* row, std::size_t count);
// Returns the smallest of `count` elements, at least one; NaN if there is one.
float min_of_row(const float* row, std::size_t count);

// Writes exp(x - max) / sum of exp(x - max) of each of `count` elements, at least one. Sums in double precision.
void softmax_of_row(const float* row, std::size_t count, float* out);
// Writes x - max - log(sum of exp(x - max)) of each of `count` elements, at least one. Sums in double precision.
void log_softmax_of_row(const float* row, std::size_t count, float* out);

}  // namespace vectis::inline v0_1::array
