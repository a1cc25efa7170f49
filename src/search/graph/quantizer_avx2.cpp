// score_rows with AVX2, for CPUs without AVX-512 VNNI: products of 16-bit integers, four rows at a time.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "search/graph/quantizer.hpp"

#define VECTIS_AVX2 [[gnu::target("avx2,fma")]]

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t rows_per_pass = 4;
constexpr std::size_t half_bytes = 16;  // that one register holds as 16-bit integers

VECTIS_AVX2 inline __m256i widened(const std::byte* codes) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
}

VECTIS_AVX2 inline __m256i widened(const std::int8_t* codes) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
}

// Element i of the result is the sum of the lanes of vectors[i].
VECTIS_AVX2 inline __m128i sums_of_lanes(const __m256i* vectors) {
  const __m256i four =
      _mm256_hadd_epi32(_mm256_hadd_epi32(vectors[0], vectors[1]), _mm256_hadd_epi32(vectors[2], vectors[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
}

// Products of the query's codes with the codes of four rows, and the sums of the rows' codes when the query is shifted.
struct FourSums {
  __m256i products[rows_per_pass];
  __m256i sums[rows_per_pass];
};

template <std::size_t Bits, bool Shifted>
VECTIS_AVX2 inline void add_codes(const QuantizedQuery& query, const std::byte* const* rows, std::size_t at,
                                  FourSums& result) {
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i low_nibble = _mm256_set1_epi16(15);
  // The first bytes of a row are its header, whose place in the query is zero.
  const __m256i after_header = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1);
  const __m256i codes = widened(query.codes() + at);
  const __m256i upper_codes = Bits == 4 ? widened(query.upper_codes() + at) : _mm256_setzero_si256();
  for (std::size_t i = 0; i < rows_per_pass; ++i) {
    __m256i row = widened(rows[i] + at);
    if constexpr (Shifted) row = at == 0 ? _mm256_and_si256(row, after_header) : row;
    if constexpr (Bits == 4) {
      const __m256i upper = _mm256_srli_epi16(row, 4);
      row = _mm256_and_si256(row, low_nibble);
      result.products[i] = _mm256_add_epi32(result.products[i], _mm256_madd_epi16(upper, upper_codes));
      if constexpr (Shifted) result.sums[i] = _mm256_add_epi32(result.sums[i], _mm256_madd_epi16(upper, ones));
    }
    result.products[i] = _mm256_add_epi32(result.products[i], _mm256_madd_epi16(row, codes));
    if constexpr (Shifted) result.sums[i] = _mm256_add_epi32(result.sums[i], _mm256_madd_epi16(row, ones));
  }
}

template <std::size_t Bits, bool Shifted>
VECTIS_AVX2 inline void score_four(const Quantizer& quantizer, const QuantizedQuery& query,
                                   const std::byte* const* rows, float* scores) {
  static_assert(code_header_bytes == half_bytes / 2);
  FourSums result;
  for (std::size_t i = 0; i < rows_per_pass; ++i) result.products[i] = result.sums[i] = _mm256_setzero_si256();
  for (std::size_t at = 0; at < quantizer.row_bytes; at += half_bytes) {
    add_codes<Bits, Shifted>(query, rows, at, result);
  }
  __m128 inner = _mm_mul_ps(_mm_set1_ps(query.scale()), _mm_cvtepi32_ps(sums_of_lanes(result.products)));
  if constexpr (Shifted) {
    inner = _mm_fmadd_ps(_mm_set1_ps(query.shift()), _mm_cvtepi32_ps(sums_of_lanes(result.sums)), inner);
  }
  const auto header = [&](std::size_t i) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[i])); };
  const __m128 first = _mm_castsi128_ps(_mm_unpacklo_epi64(header(0), header(1)));
  const __m128 second = _mm_castsi128_ps(_mm_unpacklo_epi64(header(2), header(3)));
  const __m128i parts = _mm_castps_si128(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
  const __m128 square = _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1));
  const __m128 scale = _mm_castsi128_ps(_mm_slli_epi32(parts, 16));
  const __m128 min = _mm_castsi128_ps(_mm_and_si128(parts, _mm_set1_epi32(static_cast<int>(0xFFFF0000U))));
  inner = _mm_fmadd_ps(scale, inner, _mm_mul_ps(min, _mm_set1_ps(query.sum())));
  const __m128 weighted = _mm_mul_ps(_mm_set1_ps(query.norm_weight()), square);
  _mm_storeu_ps(scores, _mm_fnmadd_ps(_mm_set1_ps(2), inner, weighted));
}

template <std::size_t Bits, bool Shifted>
VECTIS_AVX2 inline void score_all(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                                  std::size_t count, float* scores) {
  std::size_t first = 0;
  for (; first + rows_per_pass <= count; first += rows_per_pass) {
    score_four<Bits, Shifted>(quantizer, query, rows + first, scores + first);
  }
  if (first == count) return;
  const std::byte* last[rows_per_pass];
  float last_scores[rows_per_pass];
  for (std::size_t i = 0; i < rows_per_pass; ++i) last[i] = rows[std::min(first + i, count - 1)];
  score_four<Bits, Shifted>(quantizer, query, last, last_scores);
  std::copy_n(last_scores, count - first, scores + first);
}

template <std::size_t Bits>
VECTIS_AVX2 inline void score_bits(const Quantizer& quantizer, const QuantizedQuery& query,
                                   const std::byte* const* rows, std::size_t count, float* scores) {
  query.shift() != 0 ? score_all<Bits, true>(quantizer, query, rows, count, scores)
                     : score_all<Bits, false>(quantizer, query, rows, count, scores);
}

}  // namespace

VECTIS_AVX2 void score_rows_avx2(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                                 std::size_t count, float* scores) {
  quantizer.bits == 4 ? score_bits<4>(quantizer, query, rows, count, scores)
                      : score_bits<8>(quantizer, query, rows, count, scores);
}

}  // namespace vectis::inline v0_1::graph

#endif
