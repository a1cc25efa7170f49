// SIMD kernels on rows of floats: matrix products and distances. Each picks AVX-512, AVX2 or portable code at run
// time.
#pragma once

#include <cstddef>

#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::graph {

// Writes the dot product of left row i and right row j to products[i * right_rows + j]; rows are contiguous and have
// `length` floats. `products` needs left_rows * right_rows floats, not checked. The order of summation depends on
// `length` alone, so results do not depend on how rows are batched. Does not throw.
void dot_products(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows,
                  std::size_t length, float* products);

// Computes weighted sums of rows: sums[l * length + j] = sum over i < count of weights[l * count + i] * rows[i *
// length + j], for each of `lists` lists of weights. Precondition, not checked: `length` is a multiple of 16. The
// results of one list do not depend on the others. Does not throw.
void weighted_sums(const float* weights, std::size_t lists, std::size_t count, const float* rows, std::size_t length,
                   float* sums);

// Returns a bound of the rounding error of a sum of `dim` products in single precision, in any order, relative to the
// sum of their magnitudes: twice the 2^-24 of each of them and of a few operations more. Does not throw.
[[nodiscard]] constexpr double sum_rounding(std::size_t dim) noexcept { return 0x1p-23 * static_cast<double>(dim + 8); }

// Writes `count` values that order as the distances of `rows` to the query, up to single-precision rounding: squared
// l2, negative inner product or negative cosine. Multiplies vectors by `scale` first (not for cosine), so that
// squares do not overflow. Equal rows get equal values. Precondition, not checked: the metric is l2, l2_squared,
// inner_product or cosine, and query and rows have `dim` floats.
void float_distances(Metric metric, const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                     float scale, float* distances);

}  // namespace vectis::inline v0_1::graph
