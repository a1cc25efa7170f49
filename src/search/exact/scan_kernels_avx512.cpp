// Scan kernels for up to four queries with AVX-512: bound by memory bandwidth, so rows are read once, in order.
#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#include "search/exact/scan_kernels.hpp"

#define VECTIS_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#define VECTIS_VNNI [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]]

namespace vectis::inline v0_1::exact {

namespace {

// Prefetch distance in bytes; the hardware prefetcher stops at page boundaries.
constexpr std::size_t prefetch_bytes = 8192;

// Steps of sums_of_lanes: the sums of the even and the odd elements, pairs of elements, and quarters of two vectors.
VECTIS_AVX512 inline __m512i add_elements(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
VECTIS_AVX512 inline __m512i add_pairs(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
VECTIS_AVX512 inline __m512i add_quarters(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
}

VECTIS_AVX512 inline __m512 add_elements(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
}
VECTIS_AVX512 inline __m512 add_pairs(__m512 a, __m512 b) {
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b));
  return _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
}
VECTIS_AVX512 inline __m512 add_quarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}

// Lane i of the result is the sum of the lanes of vector i, by a transposing tree of additions.
template <class Vector>
VECTIS_AVX512 inline Vector sums_of_lanes(const Vector* vectors) {
  Vector fours[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const Vector* const v = vectors + 4 * i;
    fours[i] = add_pairs(add_elements(v[0], v[1]), add_elements(v[2], v[3]));
  }
  return add_quarters(add_quarters(fours[0], fours[1]), add_quarters(fours[2], fours[3]));
}

// VNNI multiplies unsigned by signed bytes: 128 is added to the codes, and 128 times the sum of the query's codes is
// subtracted at the end.
VECTIS_VNNI inline __m512i products_of_group(const std::byte* codes, const std::byte* query, std::size_t chunks) {
  const __m512i moved = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i sums[group_rows];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  __m512i query_sum = _mm512_setzero_si512();
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const __m512i q = _mm512_loadu_si512(query + chunk * chunk_bytes);
    query_sum = _mm512_dpbusd_epi32(query_sum, moved, q);
    const std::byte* const tile = codes + chunk * chunk_bytes * group_rows;
#pragma GCC unroll 16
    for (std::size_t row = 0; row < group_rows; ++row) {
      _mm_prefetch(reinterpret_cast<const char*>(tile + row * chunk_bytes) + prefetch_bytes, _MM_HINT_T0);
      const __m512i x = _mm512_xor_si512(_mm512_loadu_si512(tile + row * chunk_bytes), moved);
      sums[row] = _mm512_dpbusd_epi32(sums[row], x, q);
    }
  }
  return _mm512_sub_epi32(sums_of_lanes(sums), _mm512_set1_epi32(_mm512_reduce_add_epi32(query_sum)));
}

VECTIS_AVX512 inline __m512 squared_differences(const float* row, const float* query, std::size_t dim) {
  __m512 sum = _mm512_setzero_ps();
  __m512 other = _mm512_setzero_ps();
  std::size_t i = 0;
  for (; i + 32 <= dim; i += 32) {
    _mm_prefetch(reinterpret_cast<const char*>(row + i) + prefetch_bytes, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(row + i + 16) + prefetch_bytes, _MM_HINT_T0);
    const __m512 a = _mm512_sub_ps(_mm512_loadu_ps(row + i), _mm512_loadu_ps(query + i));
    const __m512 b = _mm512_sub_ps(_mm512_loadu_ps(row + i + 16), _mm512_loadu_ps(query + i + 16));
    sum = _mm512_fmadd_ps(a, a, sum);
    other = _mm512_fmadd_ps(b, b, other);
  }
  for (; i < dim; i += 16) {
    const auto mask = static_cast<__mmask16>(dim - i >= 16 ? 0xFFFFU : (1U << (dim - i)) - 1U);
    const __m512 a = _mm512_sub_ps(_mm512_maskz_loadu_ps(mask, row + i), _mm512_maskz_loadu_ps(mask, query + i));
    sum = _mm512_fmadd_ps(a, a, sum);
  }
  return _mm512_add_ps(sum, other);
}

}  // namespace

VECTIS_VNNI void scan_vnni(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  const std::size_t chunks = range.quantizer().chunks;
  for (std::size_t group = range.first_group; group < range.end_group; ++group) {
    const std::byte* const codes = coded.codes + group * group_rows * chunks * chunk_bytes;
    const __m512 step = _mm512_loadu_ps(coded.step + group * group_rows);
    const __m512 offset = _mm512_loadu_ps(coded.offset + group * group_rows);
    for (std::size_t query = 0; query < queries.count; ++query) {
      const __m512i products = products_of_group(codes, queries.codes.data() + query * queries.row_bytes, chunks);
      const __m512 scaled = _mm512_mul_ps(step, _mm512_cvtepi32_ps(products));
      const __m512 keys = _mm512_fmadd_ps(_mm512_set1_ps(queries.gamma[query]), scaled, offset);
      const float limit = group_limit(coded, group, queries, query);
      const __mmask16 in = _mm512_cmp_ps_mask(keys, _mm512_set1_ps(limit), _CMP_LE_OQ);
      if (in == 0) [[likely]]
        continue;
      alignas(64) float estimates[group_rows];
      _mm512_store_ps(estimates, keys);
      push_group(range, group, queries, query, estimates, in, candidates);
    }
  }
}

VECTIS_AVX512 void scan_euclidean_avx512(const RowRange& range, const PreparedQueries& queries,
                                         Candidates& candidates) {
  const std::size_t dim = range.quantizer().dim;
  for (std::size_t block = range.first_group; block < range.end_group; ++block) {
    const std::size_t first = block * group_rows;
    const std::size_t rows = std::min(group_rows, range.segment->rows - first);
    for (std::size_t query = 0; query < queries.count; ++query) {
      const auto* const query_values = reinterpret_cast<const float*>(queries.codes.data() + query * queries.row_bytes);
      __m512 parts[group_rows];
      for (std::size_t row = 0; row < rows; ++row) {
        parts[row] = squared_differences(range.segment->originals + (first + row) * dim, query_values, dim);
      }
      for (std::size_t row = rows; row < group_rows; ++row) parts[row] = _mm512_setzero_ps();
      const __m512 sums = sums_of_lanes(parts);
      const __m512 lowered = _mm512_mul_ps(sums, _mm512_set1_ps(1.0F - 2.0F * queries.a[query]));
      const __mmask16 in = _mm512_cmp_ps_mask(lowered, _mm512_set1_ps(queries.limit[query]), _CMP_LE_OQ);
      if (in == 0) [[likely]]
        continue;
      alignas(64) float values[group_rows];
      _mm512_store_ps(values, sums);
      push_differences(range, block, queries, query, values, in, candidates);
    }
  }
}

}  // namespace vectis::inline v0_1::exact

#endif
