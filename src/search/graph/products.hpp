// Products of rows of numbers with rows of numbers.
#pragma once

#include <cstddef>

namespace vectis::inline v0_1::graph {

// target[i * right_rows + j] is the product of left row i with right row j, both of `length` numbers, summed in an
// order that depends on the length alone.
void products(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows, std::size_t length,
              float* target);

// For each list of `count` weights: target[j] is the sum of weights[i] times number j of row i, whatever the other
// lists are. `length`, a multiple of 16, is that of a row and of a target.
void combine(const float* weights, std::size_t lists, std::size_t count, const float* rows, std::size_t length,
             float* target);

}  // namespace vectis::inline v0_1::graph
