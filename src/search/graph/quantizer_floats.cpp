// score_float_rows with AVX-512, AVX2 or portable code.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "search/common/simd.hpp"
#include "search/graph/quantizer.hpp"
#include "vectis/base/cpu.hpp"

namespace vectis::inline v0_1::graph {

namespace {

using simd::F32x16;
using simd::lanes;

constexpr std::size_t rows_together = 4;  // so that their sums do not wait for each other
constexpr std::size_t header_lanes = code_header_bytes / sizeof(float);

// Rows and query are zero after the last coordinate, and the header of the query is zero.
template <bool Products>
VECTIS_WIDE void score_tile(std::size_t row_bytes, const float* query, const float* const* rows, float* sums) {
  F32x16 after_header = F32x16{} + 1;
  for (std::size_t lane = 0; lane < header_lanes; ++lane) after_header[lane] = 0;
  F32x16 lane_sums[rows_together] = {};
  for (std::size_t at = 0; at < row_bytes / sizeof(float); at += lanes) {
    F32x16 left;
    simd::load_wide(left, query + at);
    for (std::size_t i = 0; i < rows_together; ++i) {
      F32x16 right;
      simd::load_wide(right, rows[i] + at);
      if (at == 0) right *= after_header;  // a header is finite as floats, too
      if constexpr (Products) {
        lane_sums[i] += left * right;
      } else {
        const F32x16 difference = left - right;
        lane_sums[i] += difference * difference;
      }
    }
  }
  for (std::size_t i = 0; i < rows_together; ++i) sums[i] = simd::sum_of_lanes(lane_sums[i]);
}

template <bool Products>
VECTIS_WIDE void score_all(std::size_t row_bytes, const QuantizedQuery& query, const std::byte* const* rows,
                           std::size_t count, float* scores) {
  const auto* const left = reinterpret_cast<const float*>(query.codes());
  for (std::size_t first = 0; first < count; first += rows_together) {
    const float* some[rows_together];
    for (std::size_t i = 0; i < rows_together; ++i) {
      some[i] = reinterpret_cast<const float*>(rows[std::min(first + i, count - 1)]);
    }
    float sums[rows_together];
    score_tile<Products>(row_bytes, left, some, sums);
    for (std::size_t i = 0; i < std::min(rows_together, count - first); ++i) {
      scores[first + i] = Products ? -2 * sums[i] : sums[i] + code_header(rows[first + i]).scale;
    }
  }
}

VECTIS_WIDE void score_rows_of(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                               std::size_t count, float* scores) {
  if (query.norm_weight() == 0) return score_all<true>(quantizer.row_bytes, query, rows, count, scores);
  score_all<false>(quantizer.row_bytes, query, rows, count, scores);
}

#if defined(__x86_64__)
// Element i of the result is the sum of the lanes of sums[i].
VECTIS_TARGET_AVX512 inline __m128 reduce_four(const __m512* sums) {
  const __m512 low = _mm512_add_ps(_mm512_unpacklo_ps(sums[0], sums[1]), _mm512_unpackhi_ps(sums[0], sums[1]));
  const __m512 high = _mm512_add_ps(_mm512_unpacklo_ps(sums[2], sums[3]), _mm512_unpackhi_ps(sums[2], sums[3]));
  const __m512d low_pairs = _mm512_castps_pd(low);
  const __m512d high_pairs = _mm512_castps_pd(high);
  const __m512 four = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(low_pairs, high_pairs)),
                                    _mm512_castpd_ps(_mm512_unpackhi_pd(low_pairs, high_pairs)));
  const __m256 two = _mm256_add_ps(_mm512_castps512_ps256(four), _mm512_extractf32x8_ps(four, 1));
  return _mm_add_ps(_mm256_castps256_ps128(two), _mm256_extractf128_ps(two, 1));
}

template <bool Products>
VECTIS_TARGET_AVX512 inline void score_avx512(std::size_t row_bytes, const QuantizedQuery& query,
                                              const std::byte* const* rows, std::size_t count, float* scores) {
  constexpr auto after_header = static_cast<__mmask16>(0xFFFFU << header_lanes);
  for (std::size_t first = 0; first < count; first += rows_together) {
    const std::byte* some[rows_together];
    for (std::size_t i = 0; i < rows_together; ++i) some[i] = rows[std::min(first + i, count - 1)];
    __m512 sums[rows_together];
    for (__m512& sum : sums) sum = _mm512_setzero_ps();
    for (std::size_t byte = 0; byte < row_bytes; byte += cache_line_bytes) {
      const __m512 left = _mm512_load_ps(query.codes() + byte);
      for (std::size_t i = 0; i < rows_together; ++i) {
        const __m512 right = byte == 0 ? _mm512_maskz_load_ps(after_header, some[i]) : _mm512_load_ps(some[i] + byte);
        const __m512 term = Products ? right : _mm512_sub_ps(left, right);
        sums[i] = _mm512_fmadd_ps(Products ? left : term, term, sums[i]);
      }
    }
    const __m128 four = reduce_four(sums);
    alignas(16) float totals[rows_together];
    _mm_store_ps(totals, four);
    for (std::size_t i = 0; i < std::min(rows_together, count - first); ++i) {
      scores[first + i] = Products ? -2 * totals[i] : totals[i] + code_header(some[i]).scale;
    }
  }
}

VECTIS_TARGET_AVX512 void score_float_rows_avx512(const Quantizer& quantizer, const QuantizedQuery& query,
                                                  const std::byte* const* rows, std::size_t count, float* scores) {
  query.norm_weight() == 0 ? score_avx512<true>(quantizer.row_bytes, query, rows, count, scores)
                           : score_avx512<false>(quantizer.row_bytes, query, rows, count, scores);
}

VECTIS_TARGET_AVX2 void score_float_rows_avx2(const Quantizer& quantizer, const QuantizedQuery& query,
                                              const std::byte* const* rows, std::size_t count, float* scores) {
  score_rows_of(quantizer, query, rows, count, scores);
}
#endif

}  // namespace

void score_float_rows(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                      std::size_t count, float* scores) {
#if defined(__x86_64__)
  if (cpu_info().avx512) return score_float_rows_avx512(quantizer, query, rows, count, scores);
  if (cpu_info().avx2) return score_float_rows_avx2(quantizer, query, rows, count, scores);
#endif
  score_rows_of(quantizer, query, rows, count, scores);
}

}  // namespace vectis::inline v0_1::graph
