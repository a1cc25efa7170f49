// filter_vnni: 16 rows at a time, whose bounds are computed from their headers in registers.
#if defined(__x86_64__)

#include <algorithm>
#include <bit>
#include <cmath>

#include "search/graph/scan_filter.hpp"
#include "search/graph/vnni_rows.hpp"

namespace vectis::inline v0_1::graph {

namespace {

VECTIS_VNNI inline __m512 joined(const __m128* parts) {
  const __m256 low = _mm256_insertf128_ps(_mm256_castps128_ps256(parts[0]), parts[1], 1);
  const __m256 high = _mm256_insertf128_ps(_mm256_castps128_ps256(parts[2]), parts[3], 1);
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

// The headers and the products of 16 rows.
struct SixteenRows {
  __m512 scale;
  __m512 min;
  __m512 square;
  __m512 product;
};

template <std::size_t Bits>
VECTIS_VNNI inline SixteenRows read_group(const Quantizer& quantizer, const QuantizedQuery& query,
                                          const std::byte* const* rows, std::size_t count) {
  constexpr std::size_t steps = scanned_group / rows_per_step;
  __m128 scale[steps];
  __m128 min[steps];
  __m128 square[steps];
  __m128 product[steps];
  for (std::size_t step = 0; step < steps; ++step) {
    const std::byte* four[rows_per_step];
    for (std::size_t i = 0; i < rows_per_step; ++i) four[i] = rows[std::min(step * rows_per_step + i, count - 1)];
    const FourHeaders headers = load_headers(four);
    scale[step] = headers.scale;
    min[step] = headers.min;
    square[step] = headers.square;
    product[step] = _mm_cvtepi32_ps(multiply_codes<Bits, false>(quantizer, query, four).products);
  }
  return {joined(scale), joined(min), joined(square), joined(product)};
}

// The bounds of a query, and of all rows of a quantizer.
class GroupTest {
 public:
  VECTIS_VNNI GroupTest(const Quantizer& quantizer, const ScannedQueries& queries, std::size_t query)
      : gamma_(_mm512_set1_ps(queries.gamma[query])),
        sum_(_mm512_set1_ps(queries.sum[query])),
        step_factor_(_mm512_set1_ps(queries.step_factor[query])),
        norm_factor_(_mm512_set1_ps(queries.norm_factor[query])),
        limit_(_mm512_set1_ps(queries.limit[query])),
        square_weight_(_mm512_set1_ps(queries.norm_weight() - score_rounding)),
        scale_weight_(_mm512_set1_ps(1 + 2 * score_rounding * static_cast<float>((1U << quantizer.bits) - 1))),
        half_diagonal_(_mm512_set1_ps(0.5F * std::sqrt(static_cast<float>(quantizer.dim)) * (1 + score_rounding))) {}

  // The rows that may be within the limit; also those whose bound is not a number, or that were shortened.
  VECTIS_VNNI [[nodiscard]] __mmask16 passing(const SixteenRows& rows) const {
    const __m512 step = _mm512_fmadd_ps(_mm512_set1_ps(2 * score_rounding), _mm512_abs_ps(rows.min),
                                        _mm512_mul_ps(rows.scale, scale_weight_));
    const __m512 norm = _mm512_fmadd_ps(_mm512_sqrt_ps(rows.square), _mm512_set1_ps(1 + score_rounding),
                                        _mm512_mul_ps(rows.scale, half_diagonal_));
    __m512 lower = _mm512_fmadd_ps(sum_, rows.min, _mm512_mul_ps(rows.square, square_weight_));
    lower = _mm512_fmadd_ps(_mm512_mul_ps(rows.product, rows.scale), gamma_, lower);
    lower = _mm512_fnmadd_ps(step_factor_, step, lower);
    lower = _mm512_fnmadd_ps(norm_factor_, norm, lower);
    return static_cast<__mmask16>(_mm512_cmp_ps_mask(lower, limit_, _CMP_NGT_UQ) |
                                  _mm512_cmp_ps_mask(rows.square, _mm512_set1_ps(shortened_square_min), _CMP_GE_OQ));
  }

 private:
  __m512 gamma_;
  __m512 sum_;
  __m512 step_factor_;
  __m512 norm_factor_;
  __m512 limit_;
  __m512 square_weight_;
  __m512 scale_weight_;
  __m512 half_diagonal_;
};

template <std::size_t Bits>
VECTIS_VNNI inline void filter(const Quantizer& quantizer, const ScannedQueries& queries, const ScannedRows& rows,
                               std::uint64_t* passing) {
  for (std::size_t query = 0; query < queries.size(); ++query) {
    const GroupTest test(quantizer, queries, query);
    for (std::size_t first = 0; first < rows.count; first += scanned_group) {
      const std::size_t count = std::min(scanned_group, rows.count - first);
      const SixteenRows group = read_group<Bits>(quantizer, queries.codes(query), rows.codes.data() + first, count);
      std::uint32_t left = test.passing(group) & ((1U << count) - 1);
      for (; left != 0; left &= left - 1) {
        passing[first + static_cast<std::size_t>(std::countr_zero(left))] |= std::uint64_t{1} << query;
      }
    }
  }
}

}  // namespace

VECTIS_VNNI void filter_vnni(const Quantizer& quantizer, const ScannedQueries& queries, ScannedRows& rows,
                             ScoreRows /*score_rows*/, std::uint64_t* passing) {
  std::fill_n(passing, rows.count, std::uint64_t{0});
  quantizer.bits == 4 ? filter<4>(quantizer, queries, rows, passing) : filter<8>(quantizer, queries, rows, passing);
}

}  // namespace vectis::inline v0_1::graph

#endif
