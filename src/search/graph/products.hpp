// Products of rows of numbers with rows of numbers.
#pragma once

#include <cstddef>

namespace vectis::inline v0_1::graph {

// target[i * right_rows + j] is the product of left row i with right row j, both of `length` numbers, summed in an
// order that depends on the length alone.
void products(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows, std::size_t length,
              float* target);

// target[j] is the sum of weights[i] times number j of row i. `length` is a multiple of 16.
void combine(const float* weights, std::size_t count, const float* rows, std::size_t length, float* target);

}  // namespace vectis::inline v0_1::graph
