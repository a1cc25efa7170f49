// score_rows with AVX-512 VNNI, four rows at a time so that one reduction adds up the lanes of all four.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "search/graph/quantizer.hpp"

#define VECTIS_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")]]

namespace vectis::inline v0_1::graph {

namespace {

constexpr std::size_t rows_per_step = 4;
constexpr __mmask64 after_header = ~__mmask64{0} << code_header_bytes;

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

// Transposes the headers of four rows.
VECTIS_VNNI inline void load_headers(const std::byte* const* rows, __m128& scale, __m128& min, __m128& square) {
  const auto at = [&](std::size_t i) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(rows[i])); };
  const __m128 first = _mm_castsi128_ps(_mm_unpacklo_epi64(at(0), at(1)));
  const __m128 second = _mm_castsi128_ps(_mm_unpacklo_epi64(at(2), at(3)));
  const __m128i parts = _mm_castps_si128(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)));
  square = _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1));
  scale = _mm_castsi128_ps(_mm_slli_epi32(parts, 16));
  min = _mm_castsi128_ps(_mm_and_si128(parts, _mm_set1_epi32(static_cast<int>(0xFFFF0000U))));
}

// `Shifted`: query.shift() is not 0, so the sums of the rows' codes are needed as well.
template <std::size_t Bits, bool Shifted>
VECTIS_VNNI inline void score(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                              std::size_t count, float* scores) {
  const __m512i ones = _mm512_set1_epi8(1);
  const __m512i low_nibble = _mm512_set1_epi8(15);
  const __m128 query_scale = _mm_set1_ps(query.scale());
  const __m128 shift = _mm_set1_ps(query.shift());
  const __m128 query_sum = _mm_set1_ps(query.sum());
  const __m128 norm_weight = _mm_set1_ps(query.norm_weight());
  for (std::size_t first = 0; first < count; first += rows_per_step) {
    const std::byte* four[rows_per_step];
    for (std::size_t i = 0; i < rows_per_step; ++i) four[i] = rows[std::min(first + i, count - 1)];
    __m512i products[rows_per_step];
    __m512i sums[rows_per_step];
    for (std::size_t i = 0; i < rows_per_step; ++i) products[i] = sums[i] = _mm512_setzero_si512();
    for (std::size_t byte = 0; byte < quantizer.row_bytes; byte += cache_line_bytes) {
      const __m512i codes = _mm512_load_si512(query.codes() + byte);
      for (std::size_t i = 0; i < rows_per_step; ++i) {
        __m512i row = _mm512_load_si512(four[i] + byte);
        if constexpr (Shifted) row = byte == 0 ? _mm512_maskz_mov_epi8(after_header, row) : row;
        if constexpr (Bits == 4) {
          const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(row, 4), low_nibble);
          row = _mm512_and_si512(row, low_nibble);
          products[i] = _mm512_dpbusd_epi32(products[i], upper, _mm512_load_si512(query.upper_codes() + byte));
          if constexpr (Shifted) sums[i] = _mm512_dpbusd_epi32(sums[i], upper, ones);
        }
        products[i] = _mm512_dpbusd_epi32(products[i], row, codes);
        if constexpr (Shifted) sums[i] = _mm512_dpbusd_epi32(sums[i], row, ones);
      }
    }
    __m128 inner = _mm_mul_ps(query_scale, _mm_cvtepi32_ps(reduce_lanes(products)));
    if constexpr (Shifted) inner = _mm_fmadd_ps(shift, _mm_cvtepi32_ps(reduce_lanes(sums)), inner);
    __m128 scale;
    __m128 min;
    __m128 square;
    load_headers(four, scale, min, square);
    inner = _mm_fmadd_ps(scale, inner, _mm_mul_ps(min, query_sum));
    const __m128 result = _mm_fnmadd_ps(_mm_set1_ps(2), inner, _mm_mul_ps(norm_weight, square));
    const std::size_t left = std::min(rows_per_step, count - first);
    _mm_mask_storeu_ps(scores + first, static_cast<__mmask8>((1U << left) - 1), result);
  }
}

template <std::size_t Bits>
VECTIS_VNNI inline void score(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                              std::size_t count, float* scores) {
  query.shift() != 0 ? score<Bits, true>(quantizer, query, rows, count, scores)
                     : score<Bits, false>(quantizer, query, rows, count, scores);
}

}  // namespace

VECTIS_VNNI void score_rows_vnni(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                                 std::size_t count, float* scores) {
  quantizer.bits == 4 ? score<4>(quantizer, query, rows, count, scores)
                      : score<8>(quantizer, query, rows, count, scores);
}

}  // namespace vectis::inline v0_1::graph

#endif
