#include "search/graph/compare.hpp"

#include <cmath>

#include "search/exact/wide.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using exact::F32x16;
using exact::lanes;

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
VECTIS_WIDE void sum_up(const float* query, const float* row, std::size_t dim, float scale, float& first,
                        float& second) {
  Sums sums;
  for (std::size_t at = 0; at < dim; at += lanes) {
    F32x16 left;
    F32x16 right;
    exact::load_part(left, query, at, dim);
    exact::load_part(right, row, at, dim);
    add_lanes<D>(sums, left, right, scale);
  }
  first = exact::sum_of_lanes(sums.first);
  second = exact::sum_of_lanes(sums.second);
}

constexpr std::size_t rows_ahead = 2;  // brought near while others are compared

VECTIS_WIDE void prefetch_numbers(const float* row, std::size_t dim) {
  for (std::size_t at = 0; at < dim; at += lanes) __builtin_prefetch(row + at);
}

// A sum of squares that single precision holds well.
VECTIS_WIDE bool is_usual(float square) { return square > 1e-30F && square < 1e30F; }

// The negative cosine; in double precision for vectors that are very long or very short.
VECTIS_WIDE float negative_cosine(const float* query, float query_square, const float* row, std::size_t dim) {
  float product = 0;
  float square = 0;
  sum_up<Metric::cosine>(query, row, dim, 1, product, square);
  if (is_usual(query_square) && is_usual(square)) return -product / std::sqrt(square) / std::sqrt(query_square);
  return static_cast<float>(exact_distance(Metric::cosine, {query, dim}, {row, dim}) - 1);
}

template <Metric D>
VECTIS_WIDE void compare_all(const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                             float scale, float* distances) {
  float unused = 0;
  float query_square = 0;
  if constexpr (D == Metric::cosine) sum_up<D>(query, query, dim, 1, unused, query_square);
  for (std::size_t i = 0; i < rows_ahead && i < count; ++i) prefetch_numbers(rows[i], dim);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + rows_ahead < count) prefetch_numbers(rows[i + rows_ahead], dim);
    if constexpr (D == Metric::cosine) {
      distances[i] = negative_cosine(query, query_square, rows[i], dim);
    } else {
      float sum = 0;
      sum_up<D>(query, rows[i], dim, scale, sum, unused);
      distances[i] = D == Metric::l2 ? sum : -sum;
    }
  }
}

VECTIS_WIDE void compare(Metric distance, const float* query, const float* const* rows, std::size_t count,
                         std::size_t dim, float scale, float* distances) {
  if (distance == Metric::l2) return compare_all<Metric::l2>(query, rows, count, dim, scale, distances);
  if (distance == Metric::cosine) return compare_all<Metric::cosine>(query, rows, count, dim, scale, distances);
  compare_all<Metric::inner_product>(query, rows, count, dim, scale, distances);
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX512 void compare_avx512(Metric distance, const float* query, const float* const* rows,
                                         std::size_t count, std::size_t dim, float scale, float* distances) {
  compare(distance, query, rows, count, dim, scale, distances);
}

VECTIS_TARGET_AVX2 void compare_avx2(Metric distance, const float* query, const float* const* rows, std::size_t count,
                                     std::size_t dim, float scale, float* distances) {
  compare(distance, query, rows, count, dim, scale, distances);
}
#endif

}  // namespace

void compare_rows(Metric distance, const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                  float scale, float* distances) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return compare_avx512(distance, query, rows, count, dim, scale, distances);
  if (cpu_info().avx2) return compare_avx2(distance, query, rows, count, dim, scale, distances);
#endif
  compare(distance, query, rows, count, dim, scale, distances);
}

}  // namespace vectis::inline v0_1::graph
