#include "search/graph/float_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "search/common/simd.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using simd::F32x16;
using simd::lanes;

constexpr std::size_t tile = 4;  // rows of either side whose 16 accumulators fit into the registers

// Callers repeat the last row to fill a tile, and do not store the products of the repeats.
VECTIS_WIDE void product_tile(const float* const* left, const float* const* right, std::size_t length,
                              float (*sums)[tile]) {
  F32x16 lane_sums[tile][tile] = {};
  for (std::size_t at = 0; at < length; at += lanes) {
    F32x16 columns[tile];
    for (std::size_t j = 0; j < tile; ++j) simd::load_part(columns[j], right[j], at, length);
    for (std::size_t i = 0; i < tile; ++i) {
      F32x16 row;
      simd::load_part(row, left[i], at, length);
      for (std::size_t j = 0; j < tile; ++j) lane_sums[i][j] += row * columns[j];
    }
  }
  for (std::size_t i = 0; i < tile; ++i) {
    for (std::size_t j = 0; j < tile; ++j) sums[i][j] = simd::sum_of_lanes(lane_sums[i][j]);
  }
}

// One left row: no tile rows are wasted, and each right row is read once.
VECTIS_WIDE void single_row(const float* left, const float* right, std::size_t right_rows, std::size_t length,
                            float* target) {
  constexpr std::size_t together = 8;
  for (std::size_t j = 0; j < right_rows; j += together) {
    F32x16 lane_sums[together] = {};
    for (std::size_t at = 0; at < length; at += lanes) {
      F32x16 row;
      simd::load_part(row, left, at, length);
      for (std::size_t n = 0; n < together; ++n) {
        F32x16 column;
        simd::load_part(column, right + std::min(j + n, right_rows - 1) * length, at, length);
        lane_sums[n] += row * column;
      }
    }
    for (std::size_t n = 0; n < std::min(together, right_rows - j); ++n)
      target[j + n] = simd::sum_of_lanes(lane_sums[n]);
  }
}

VECTIS_WIDE void multiply_tiles(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows,
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

// Vectors * 16 floats of Lists sums stay in registers while all rows are read.
template <std::size_t Lists, std::size_t Vectors>
VECTIS_WIDE void sum_columns(const float* weights, std::size_t count, const float* rows, std::size_t length,
                             float* target) {
  F32x16 sums[Lists][Vectors] = {};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < Vectors; ++n) {
      F32x16 values;
      simd::load_wide(values, rows + i * length + n * lanes);
      for (std::size_t list = 0; list < Lists; ++list) sums[list][n] += values * weights[list * count + i];
    }
  }
  for (std::size_t list = 0; list < Lists; ++list) {
    for (std::size_t n = 0; n < Vectors; ++n) simd::store_wide(sums[list][n], target + list * length + n * lanes);
  }
}

// Lists * Vectors accumulators fit into the registers.
template <std::size_t Lists, std::size_t Vectors>
VECTIS_WIDE void sum_lists(const float* weights, std::size_t count, const float* rows, std::size_t length,
                           float* target) {
  constexpr std::size_t step = Vectors * lanes;
  std::size_t at = 0;
  for (; at + step <= length; at += step) {
    sum_columns<Lists, Vectors>(weights, count, rows + at, length, target + at);
  }
  for (; at < length; at += lanes) sum_columns<Lists, 1>(weights, count, rows + at, length, target + at);
}

VECTIS_WIDE void sum_all_lists(const float* weights, std::size_t lists, std::size_t count, const float* rows,
                               std::size_t length, float* target) {
  constexpr std::size_t together = 4;
  std::size_t list = 0;
  for (; list + together <= lists; list += together) {
    sum_lists<together, 4>(weights + list * count, count, rows, length, target + list * length);
  }
  for (; list < lists; ++list) {
    sum_lists<1, 8>(weights + list * count, count, rows, length, target + list * length);
  }
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX512 void dot_products_avx512(const float* left, std::size_t left_rows, const float* right,
                                              std::size_t right_rows, std::size_t length, float* target) {
  multiply_tiles(left, left_rows, right, right_rows, length, target);
}

VECTIS_TARGET_AVX2 void dot_products_avx2(const float* left, std::size_t left_rows, const float* right,
                                          std::size_t right_rows, std::size_t length, float* target) {
  multiply_tiles(left, left_rows, right, right_rows, length, target);
}

VECTIS_TARGET_AVX512 void weighted_sums_avx512(const float* weights, std::size_t lists, std::size_t count,
                                               const float* rows, std::size_t length, float* target) {
  sum_all_lists(weights, lists, count, rows, length, target);
}

VECTIS_TARGET_AVX2 void weighted_sums_avx2(const float* weights, std::size_t lists, std::size_t count,
                                           const float* rows, std::size_t length, float* target) {
  sum_all_lists(weights, lists, count, rows, length, target);
}
#endif

struct Sums {
  F32x16 first{};
  F32x16 second{};
};

template <Metric D>
VECTIS_WIDE void add_lanes(Sums& sums, const F32x16& query, const F32x16& row, float scale) {
  if constexpr (D == Metric::l2) {
    const F32x16 difference = (query - row) * scale;
    sums.first += difference * difference;
  } else if constexpr (D == Metric::inner_product) {
    sums.first += (query * scale) * (row * scale);
  } else {
    sums.first += query * row;
    sums.second += row * row;
  }
}

template <Metric D>
VECTIS_WIDE void accumulate(const float* query, const float* row, std::size_t dim, float scale, float& first,
                            float& second) {
  Sums sums;
  for (std::size_t at = 0; at < dim; at += lanes) {
    F32x16 left;
    F32x16 right;
    simd::load_part(left, query, at, dim);
    simd::load_part(right, row, at, dim);
    add_lanes<D>(sums, left, right, scale);
  }
  first = simd::sum_of_lanes(sums.first);
  second = simd::sum_of_lanes(sums.second);
}

constexpr std::size_t prefetch_rows = 2;  // ahead of the row that is compared

VECTIS_WIDE void prefetch_floats(const float* row, std::size_t dim) {
  for (std::size_t at = 0; at < dim; at += lanes) __builtin_prefetch(row + at);
}

// Far from overflow and underflow in single precision.
VECTIS_WIDE bool is_moderate(float square) { return square > 1e-30F && square < 1e30F; }

// In double precision for vectors that are very long or very short.
VECTIS_WIDE float negative_cosine(const float* query, float query_square, const float* row, std::size_t dim) {
  float product = 0;
  float square = 0;
  accumulate<Metric::cosine>(query, row, dim, 1, product, square);
  if (is_moderate(query_square) && is_moderate(square)) return -product / std::sqrt(square) / std::sqrt(query_square);
  return static_cast<float>(exact_distance(Metric::cosine, {query, dim}, {row, dim}) - 1);
}

template <Metric D>
VECTIS_WIDE void distances_of(const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                              float scale, float* distances) {
  float unused = 0;
  float query_square = 0;
  if constexpr (D == Metric::cosine) accumulate<D>(query, query, dim, 1, unused, query_square);
  for (std::size_t i = 0; i < prefetch_rows && i < count; ++i) prefetch_floats(rows[i], dim);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + prefetch_rows < count) prefetch_floats(rows[i + prefetch_rows], dim);
    if constexpr (D == Metric::cosine) {
      distances[i] = negative_cosine(query, query_square, rows[i], dim);
    } else {
      float sum = 0;
      accumulate<D>(query, rows[i], dim, scale, sum, unused);
      distances[i] = D == Metric::l2 ? sum : -sum;
    }
  }
}

VECTIS_WIDE void distances_to(Metric metric, const float* query, const float* const* rows, std::size_t count,
                              std::size_t dim, float scale, float* distances) {
  if (is_euclidean(metric)) return distances_of<Metric::l2>(query, rows, count, dim, scale, distances);
  if (metric == Metric::cosine) return distances_of<Metric::cosine>(query, rows, count, dim, scale, distances);
  distances_of<Metric::inner_product>(query, rows, count, dim, scale, distances);
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX512 void float_distances_avx512(Metric metric, const float* query, const float* const* rows,
                                                 std::size_t count, std::size_t dim, float scale, float* distances) {
  distances_to(metric, query, rows, count, dim, scale, distances);
}

VECTIS_TARGET_AVX2 void float_distances_avx2(Metric metric, const float* query, const float* const* rows,
                                             std::size_t count, std::size_t dim, float scale, float* distances) {
  distances_to(metric, query, rows, count, dim, scale, distances);
}
#endif

}  // namespace

void float_distances(Metric metric, const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                     float scale, float* distances) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return float_distances_avx512(metric, query, rows, count, dim, scale, distances);
  if (cpu_info().avx2) return float_distances_avx2(metric, query, rows, count, dim, scale, distances);
#endif
  distances_to(metric, query, rows, count, dim, scale, distances);
}

void weighted_sums(const float* weights, std::size_t lists, std::size_t count, const float* rows, std::size_t length,
                   float* target) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return weighted_sums_avx512(weights, lists, count, rows, length, target);
  if (cpu_info().avx2) return weighted_sums_avx2(weights, lists, count, rows, length, target);
#endif
  sum_all_lists(weights, lists, count, rows, length, target);
}

void dot_products(const float* left, std::size_t left_rows, const float* right, std::size_t right_rows,
                  std::size_t length, float* target) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return dot_products_avx512(left, left_rows, right, right_rows, length, target);
  if (cpu_info().avx2) return dot_products_avx2(left, left_rows, right, right_rows, length, target);
#endif
  multiply_tiles(left, left_rows, right, right_rows, length, target);
}

}  // namespace vectis::inline v0_1::graph
