// score_rows with AVX-512 VNNI.
#if defined(__x86_64__)

#include <algorithm>

#include "search/graph/vnni_rows.hpp"

namespace vectis::inline v0_1::graph {

namespace {

// `Shifted`: query.shift() is not 0, so the sums of the rows' codes are needed as well.
template <std::size_t Bits, bool Shifted>
VECTIS_VNNI inline void score(const Quantizer& quantizer, const QuantizedQuery& query, const std::byte* const* rows,
                              std::size_t count, float* scores) {
  const __m128 query_scale = _mm_set1_ps(query.scale());
  const __m128 shift = _mm_set1_ps(query.shift());
  const __m128 query_sum = _mm_set1_ps(query.sum());
  const __m128 norm_weight = _mm_set1_ps(query.norm_weight());
  for (std::size_t first = 0; first < count; first += rows_per_step) {
    const std::byte* four[rows_per_step];
    for (std::size_t i = 0; i < rows_per_step; ++i) four[i] = rows[std::min(first + i, count - 1)];
    const FourProducts codes = multiply_codes<Bits, Shifted>(quantizer, query, four);
    __m128 inner = _mm_mul_ps(query_scale, _mm_cvtepi32_ps(codes.products));
    if constexpr (Shifted) inner = _mm_fmadd_ps(shift, _mm_cvtepi32_ps(codes.sums), inner);
    const FourHeaders headers = load_headers(four);
    inner = _mm_fmadd_ps(headers.scale, inner, _mm_mul_ps(headers.min, query_sum));
    const __m128 result = _mm_fnmadd_ps(_mm_set1_ps(2), inner, _mm_mul_ps(norm_weight, headers.square));
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
