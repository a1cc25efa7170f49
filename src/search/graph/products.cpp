#include "search/graph/products.hpp"

#include <algorithm>

#include "search/exact/wide.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using exact::F32x16;
using exact::lanes;

constexpr std::size_t tile = 4;

// Rows behind the last one are the last one again; their products are not written.
VECTIS_WIDE void product_tile(const float* const* left, const float* const* right, std::size_t length,
                              float (*sums)[tile]) {
  F32x16 parts[tile][tile] = {};
  for (std::size_t at = 0; at < length; at += lanes) {
    F32x16 columns[tile];
    for (std::size_t j = 0; j < tile; ++j) exact::load_part(columns[j], right[j], at, length);
    for (std::size_t i = 0; i < tile; ++i) {
      F32x16 row;
      exact::load_part(row, left[i], at, length);
      for (std::size_t j = 0; j < tile; ++j) parts[i][j] += row * columns[j];
    }
  }
  for (std::size_t i = 0; i < tile; ++i) {
    for (std::size_t j = 0; j < tile; ++j) sums[i][j] = exact::sum_of_lanes(parts[i][j]);
  }
}

// One left row with several right ones at a time: nothing is computed twice, and the right ones are read once.
VECTIS_WIDE void single_row(const float* left, const float* right, std::size_t right_rows, std::size_t length,
                            float* target) {
  constexpr std::size_t together = 8;
  for (std::size_t j = 0; j < right_rows; j += together) {
    F32x16 parts[together] = {};
    for (std::size_t at = 0; at < length; at += lanes) {
      F32x16 row;
      exact::load_part(row, left, at, length);
      for (std::size_t n = 0; n < together; ++n) {
        F32x16 column;
        exact::load_part(column, right + std::min(j + n, right_rows - 1) * length, at, length);
        parts[n] += row * column;
      }
    }
    for (std::size_t n = 0; n < std::min(together, right_rows - j); ++n) target[j + n] = exact::sum_of_lanes(parts[n]);
  }
}

VECTIS_WIDE void all_tiles(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows,
                           std::size_t length, float* target) {
  if (left_rows == 1) return single_row(left, right, right_rows, length, target);
  for (std::size_t i = 0; i < left_rows; i += tile) {
    for (std::size_t j = 0; j < right_rows; j += tile) {
      const float* some_left[tile];
      const float* some_right[tile];
      for (std::size_t n = 0; n < tile; ++n) {
        some_left[n] = left + std::min(i + n, left_rows - 1) * length;
        some_right[n] = right + std::min(j + n, right_rows - 1) * length;
      }
      float sums[tile][tile];
      product_tile(some_left, some_right, length, sums);
      for (std::size_t n = 0; n < std::min(tile, left_rows - i); ++n) {
        std::copy_n(sums[n], std::min(tile, right_rows - j), target + (i + n) * right_rows + j);
      }
    }
  }
}

// So many numbers of so many targets stay in registers while all rows pass.
template <std::size_t Lists, std::size_t Vectors>
VECTIS_WIDE void combine_some(const float* weights, std::size_t count, const float* rows, std::size_t length,
                              float* target) {
  F32x16 sums[Lists][Vectors] = {};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < Vectors; ++n) {
      F32x16 numbers;
      exact::load_wide(numbers, rows + i * length + n * lanes);
      for (std::size_t list = 0; list < Lists; ++list) sums[list][n] += numbers * weights[list * count + i];
    }
  }
  for (std::size_t list = 0; list < Lists; ++list) {
    for (std::size_t n = 0; n < Vectors; ++n) exact::store_wide(sums[list][n], target + list * length + n * lanes);
  }
}

// Vectors is what fits into registers.
template <std::size_t Lists, std::size_t Vectors>
VECTIS_WIDE void combine_lists(const float* weights, std::size_t count, const float* rows, std::size_t length,
                               float* target) {
  constexpr std::size_t step = Vectors * lanes;
  std::size_t at = 0;
  for (; at + step <= length; at += step) {
    combine_some<Lists, Vectors>(weights, count, rows + at, length, target + at);
  }
  for (; at < length; at += lanes) combine_some<Lists, 1>(weights, count, rows + at, length, target + at);
}

VECTIS_WIDE void combine_all(const float* weights, std::size_t lists, std::size_t count, const float* rows,
                             std::size_t length, float* target) {
  constexpr std::size_t together = 4;
  std::size_t list = 0;
  for (; list + together <= lists; list += together) {
    combine_lists<together, 4>(weights + list * count, count, rows, length, target + list * length);
  }
  for (; list < lists; ++list) {
    combine_lists<1, 8>(weights + list * count, count, rows, length, target + list * length);
  }
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX512 void products_avx512(const float* left, std::size_t left_rows, const float* right,
                                          std::size_t right_rows, std::size_t length, float* target) {
  all_tiles(left, left_rows, right, right_rows, length, target);
}

VECTIS_TARGET_AVX2 void products_avx2(const float* left, std::size_t left_rows, const float* right,
                                      std::size_t right_rows, std::size_t length, float* target) {
  all_tiles(left, left_rows, right, right_rows, length, target);
}

VECTIS_TARGET_AVX512 void combine_avx512(const float* weights, std::size_t lists, std::size_t count, const float* rows,
                                         std::size_t length, float* target) {
  combine_all(weights, lists, count, rows, length, target);
}

VECTIS_TARGET_AVX2 void combine_avx2(const float* weights, std::size_t lists, std::size_t count, const float* rows,
                                     std::size_t length, float* target) {
  combine_all(weights, lists, count, rows, length, target);
}
#endif

}  // namespace

void combine(const float* weights, std::size_t lists, std::size_t count, const float* rows, std::size_t length,
             float* target) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return combine_avx512(weights, lists, count, rows, length, target);
  if (cpu_info().avx2) return combine_avx2(weights, lists, count, rows, length, target);
#endif
  combine_all(weights, lists, count, rows, length, target);
}

void products(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows, std::size_t length,
              float* target) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return products_avx512(left, left_rows, right, right_rows, length, target);
  if (cpu_info().avx2) return products_avx2(left, left_rows, right, right_rows, length, target);
#endif
  all_tiles(left, left_rows, right, right_rows, length, target);
}

}  // namespace vectis::inline v0_1::graph
