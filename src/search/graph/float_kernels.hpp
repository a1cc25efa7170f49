// SIMD kernels on rows of floats: matrix products and distances. Each picks AVX-512, AVX2 or portable code at run time.
#pragma once

#include <cstddef>

#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::graph {

// products[i * right_rows + j] = dot(left row i, right row j); rows have `length` floats. The order of summation
// depends on `length` alone, so that results do not depend on how rows are batched.
void dot_products(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows,
                  std::size_t length, float* products);

// sums[l * length + j] = sum over i of weights[l * count + i] * rows[i * length + j], for each of `lists` lists of
// weights. `length` is a multiple of 16. Results of one list do not depend on the others.
void weighted_sums(const float* weights, std::size_t lists, std::size_t count, const float* rows, std::size_t length,
                   float* sums);

// Writes values that order as the distances of `rows` to the query, except for single-precision rounding: squared l2,
// negative inner product or negative cosine. Vectors are multiplied by `scale` first (not for cosine), so that squares
// do not overflow. Equal rows get equal values. Other metrics are not supported.
void float_distances(Metric metric, const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                     float scale, float* distances);

}  // namespace vectis::inline v0_1::graph
