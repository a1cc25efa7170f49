// Parts of kernels with AVX-512 VNNI: rows of codes four at a time, so that one reduction adds up the lanes of all
// four.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstddef>

#include "search/graph/quantizer.hpp"

#define VECTIS_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")]]

namespace vectis::inline v0_1::graph {

inline constexpr std::size_t rows_per_step = 4;

// Element i of the result is the sum of the lanes of vectors[i].
VECTIS_VNNI inline __m128i reduce_lanes(const __m512i* vectors) {
  const __m512i low =
      _mm512_add_epi32(_mm512_unpacklo_epi32(vectors[0], vectors[1]), _mm512_unpackhi_epi32(vectors[0], vectors[1]));
  const __m512i high =
      _mm512_add_epi32(_mm512_unpacklo_epi32(vectors[2], vectors[3]), _mm512_unpackhi_epi32(vectors[2], vectors[3]));
  const __m512i four = _mm512_add_epi32(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
  const __m256i two = _mm256_add_epi32(_mm512_castsi512_si256(four), _mm512_extracti64x4_epi64(four, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
}

// The headers of four rows.
struct FourHeaders {
  __m128 scale;
  __m128 min;
  __m128 square;
};

VECTIS_VNNI inline FourHeaders load_headers(const std::byte* const* rows) {
  const auto at = [&](std::size_t i) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[i])); };
  const __m128 first = _mm_castsi128_ps(_mm_unpacklo_epi64(at(0), at(1)));
  const __m128 second = _mm_castsi128_ps(_mm_unpacklo_epi64(at(2), at(3)));
  const __m128i parts = _mm_castps_si128(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
  return {_mm_castsi128_ps(_mm_slli_epi32(parts, 16)),
          _mm_castsi128_ps(_mm_and_si128(parts, _mm_set1_epi32(static_cast<int>(0xFFFF0000U)))),
          _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1))};
}

// Products of the codes of four rows with those of a query, and the sums of the rows' codes when Summed.
struct FourProducts {
  __m128i products;
  __m128i sums;
};

// The last quarter of a cache line of a row, and zeros.
VECTIS_VNNI inline __m512i load_end(const std::byte* codes) {
  return _mm512_zextsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
}

template <std::size_t Bits, bool Summed>
VECTIS_VNNI inline FourProducts multiply_codes(const Quantizer& quantizer, const QuantizedQuery& query,
                                               const std::byte* const* rows) {
  constexpr __mmask64 after_header = ~__mmask64{0} << code_header_bytes;
  const __m512i ones = _mm512_set1_epi8(1);
  const __m512i low_nibble = _mm512_set1_epi8(15);
  __m512i products[rows_per_step];
  __m512i sums[rows_per_step];
  for (std::size_t i = 0; i < rows_per_step; ++i) products[i] = sums[i] = _mm512_setzero_si512();
  for (std::size_t byte = 0; byte < quantizer.row_bytes; byte += cache_line_bytes) {
    const __m512i codes = _mm512_load_si512(query.codes() + byte);
    const bool whole = byte + cache_line_bytes <= quantizer.row_bytes;
    for (std::size_t i = 0; i < rows_per_step; ++i) {
      __m512i row = whole ? _mm512_loadu_si512(rows[i] + byte) : load_end(rows[i] + byte);
      if constexpr (Summed) row = byte == 0 ? _mm512_maskz_mov_epi8(after_header, row) : row;
      if constexpr (Bits == 4) {
        const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(row, 4), low_nibble);
        row = _mm512_and_si512(row, low_nibble);
        products[i] = _mm512_dpbusd_epi32(products[i], upper, _mm512_load_si512(query.upper_codes() + byte));
        if constexpr (Summed) sums[i] = _mm512_dpbusd_epi32(sums[i], upper, ones);
      }
      products[i] = _mm512_dpbusd_epi32(products[i], row, codes);
      if constexpr (Summed) sums[i] = _mm512_dpbusd_epi32(sums[i], row, ones);
    }
  }
  FourProducts result{reduce_lanes(products), _mm_setzero_si128()};
  if constexpr (Summed) result.sums = reduce_lanes(sums);
  return result;
}

}  // namespace vectis::inline v0_1::graph

#endif
