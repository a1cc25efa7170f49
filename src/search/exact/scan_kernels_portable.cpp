// Scan kernels for all precisions and metrics with the compiler's vector extensions.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "search/common/simd.hpp"
#include "search/exact/scan_kernels.hpp"

namespace vectis::inline v0_1::exact {

namespace {

using namespace simd;

// Bit r is set where values[r] <= limit.
VECTIS_WIDE std::uint32_t not_above(const float* values, float limit) noexcept {
  std::uint32_t mask = 0;
  for (std::size_t i = 0; i < group_rows; ++i) mask |= static_cast<std::uint32_t>(values[i] <= limit) << i;
  return mask;
}

struct Int8Codes {
  VECTIS_WIDE static float dot(const std::byte* row, const std::byte* query, std::size_t chunks) noexcept {
    I32x16 sum{};
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::size_t i = 0; i < chunk_bytes; i += lanes) {
        I8x16 x;
        I8x16 q;
        load_wide(x, row + chunk * chunk_bytes * group_rows + i);
        load_wide(q, query + chunk * chunk_bytes + i);
        const I16x16 product = __builtin_convertvector(x, I16x16) * __builtin_convertvector(q, I16x16);
        sum += __builtin_convertvector(product, I32x16);
      }
    }
    std::int32_t total = 0;
    for (std::size_t i = 0; i < lanes; ++i) total += sum[i];
    return static_cast<float>(total);
  }
};

template <class Widen>
struct Codes16 {
  VECTIS_WIDE static float dot(const std::byte* row, const std::byte* query, std::size_t chunks) noexcept {
    F32x16 sum{};
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      for (std::size_t i = 0; i < chunk_bytes / 2; i += lanes) {
        F32x16 x;
        F32x16 q;
        Widen::widen(x, row + chunk * chunk_bytes * group_rows + i * 2);
        load_wide(q, query + (chunk * chunk_bytes / 2 + i) * sizeof(float));
        sum += x * q;
      }
    }
    return sum_of_lanes(sum);
  }
};

struct Bfloat16Words {
  VECTIS_WIDE static void widen(F32x16& to, const std::byte* from) noexcept { widen_bfloat16(to, from); }
};
struct Float16Words {
  VECTIS_WIDE static void widen(F32x16& to, const std::byte* from) noexcept { widen_float16(to, from); }
};

template <class Codes>
VECTIS_WIDE void scan_codes(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  const std::size_t chunks = range.quantizer().chunks;
  for (std::size_t group = range.first_group; group < range.end_group; ++group) {
    const std::byte* const codes = coded.codes + group * group_rows * chunks * chunk_bytes;
    const std::size_t first = group * group_rows;
    for (std::size_t query = 0; query < queries.count; ++query) {
      const std::byte* const query_codes = queries.codes.data() + query * queries.row_bytes;
      float keys[group_rows];
      for (std::size_t row = 0; row < group_rows; ++row) {
        const float product = Codes::dot(codes + row * chunk_bytes, query_codes, chunks);
        keys[row] = coded.offset[first + row] + queries.gamma[query] * (coded.step[first + row] * product);
      }
      const std::uint32_t mask = not_above(keys, group_limit(coded, group, queries, query));
      if (mask != 0) push_group(range, group, queries, query, keys, mask, candidates);
    }
  }
}

// Calls `add` with 16 elements of an fp32 row and of the query at a time. Both are padded with zeros.
template <class Add>
VECTIS_WIDE void over_row(const float* row, const float* query, std::size_t dim, Add add) noexcept {
  std::size_t i = 0;
  F32x16 x;
  F32x16 q;
  for (; i + lanes <= dim; i += lanes) {
    load_wide(x, row + i);
    load_wide(q, query + i);
    add(x, q);
  }
  if (i == dim) return;
  load_wide(q, query + i);
  x = F32x16{};
  std::memcpy(&x, row + i, (dim - i) * sizeof(float));
  add(x, q);
}

struct SquaredDifference {
  VECTIS_WIDE static void add(F32x16& sum, const F32x16& x, const F32x16& q) noexcept {
    const F32x16 difference = x - q;
    sum += difference * difference;
  }
};
struct AbsoluteDifference {
  VECTIS_WIDE static void add(F32x16& sum, const F32x16& x, const F32x16& q) noexcept {
    F32x16 difference = x - q;
    absolute(difference);
    sum += difference;
  }
};
struct Product {
  VECTIS_WIDE static void add(F32x16& sum, const F32x16& x, const F32x16& q) noexcept { sum += x * q; }
};

// The sum of a term over the elements of a row and a query.
template <class Term>
struct SumOf {
  VECTIS_WIDE static float of(const float* row, const float* query, std::size_t dim) noexcept {
    F32x16 sum{};
    over_row(row, query, dim, [&](const F32x16& x, const F32x16& q) VECTIS_WIDE_LAMBDA { Term::add(sum, x, q); });
    return sum_of_lanes(sum);
  }
};
struct LargestDifference {
  VECTIS_WIDE static float of(const float* row, const float* query, std::size_t dim) noexcept {
    F32x16 largest{};
    over_row(row, query, dim, [&](const F32x16& x, const F32x16& q) VECTIS_WIDE_LAMBDA {
      F32x16 difference = x - q;
      absolute(difference);
      largest = difference > largest ? difference : largest;
    });
    return largest_of_lanes(largest);
  }
};
struct UnequalElements {
  VECTIS_WIDE static float of(const float* row, const float* query, std::size_t dim) noexcept {
    I32x16 sum{};
    over_row(row, query, dim, [&](const F32x16& x, const F32x16& q) VECTIS_WIDE_LAMBDA { sum -= x != q; });
    std::int32_t total = 0;
    for (std::size_t i = 0; i < lanes; ++i) total += sum[i];
    return static_cast<float>(total);
  }
};

template <class Value, class Block>
VECTIS_WIDE void over_originals(const RowRange& range, const PreparedQueries& queries, Block done) {
  const std::size_t dim = range.quantizer().dim;
  for (std::size_t block = range.first_group; block < range.end_group; ++block) {
    const std::size_t first = block * group_rows;
    const std::size_t rows = std::min(group_rows, range.segment->rows - first);
    for (std::size_t query = 0; query < queries.count; ++query) {
      const auto* const query_values = reinterpret_cast<const float*>(queries.codes.data() + query * queries.row_bytes);
      float values[group_rows] = {};
      for (std::size_t row = 0; row < rows; ++row) {
        values[row] = Value::of(range.segment->originals + (first + row) * dim, query_values, dim);
      }
      done(block, query, values);
    }
  }
}

template <class Value>
VECTIS_WIDE void scan_differences(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  over_originals<Value>(range, queries,
                        [&](std::size_t block, std::size_t query, const float* sums) VECTIS_WIDE_LAMBDA {
                          const float least = 1.0F - 2.0F * queries.a[query];
                          float lowered[group_rows];
                          for (std::size_t i = 0; i < group_rows; ++i) lowered[i] = sums[i] * least;
                          const std::uint32_t mask = not_above(lowered, queries.limit[query]);
                          if (mask != 0) push_differences(range, block, queries, query, sums, mask, candidates);
                        });
}

VECTIS_WIDE void scan_products(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  const CodeBlock& coded = *range.coded;
  over_originals<SumOf<Product>>(
      range, queries, [&](std::size_t block, std::size_t query, const float* products) VECTIS_WIDE_LAMBDA {
        float keys[group_rows];
        std::uint32_t mask = 0;
        for (std::size_t i = 0; i < group_rows && block * group_rows + i < coded.rows; ++i) {
          const std::size_t row = block * group_rows + i;
          keys[i] = queries.gamma[query] * (coded.step[row] * products[i]);
          const bool out = keys[i] - queries.b[query] * coded.norm[row] > queries.limit[query];
          mask |= static_cast<std::uint32_t>(!out) << i;
        }
        if (mask != 0) push_group(range, block, queries, query, keys, mask, candidates);
      });
}

VECTIS_WIDE void scan_originals(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  switch (range.quantizer().metric) {
    case Metric::l2:
    case Metric::l2_squared:
      return scan_differences<SumOf<SquaredDifference>>(range, queries, candidates);
    case Metric::l1:
      return scan_differences<SumOf<AbsoluteDifference>>(range, queries, candidates);
    case Metric::chebyshev:
      return scan_differences<LargestDifference>(range, queries, candidates);
    case Metric::hamming:
      return scan_differences<UnequalElements>(range, queries, candidates);
    case Metric::cosine:
    case Metric::inner_product:
      return scan_products(range, queries, candidates);
  }
}

VECTIS_WIDE void scan_any(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  switch (range.quantizer().precision) {
    case Precision::int8:
      return scan_codes<Int8Codes>(range, queries, candidates);
    case Precision::bf16:
      return scan_codes<Codes16<Bfloat16Words>>(range, queries, candidates);
    case Precision::fp16:
      return scan_codes<Codes16<Float16Words>>(range, queries, candidates);
    case Precision::fp32:
      return scan_originals(range, queries, candidates);
  }
}

}  // namespace

void scan_scalar(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  scan_any(range, queries, candidates);
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX2 void scan_avx2(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  scan_any(range, queries, candidates);
}

VECTIS_TARGET_AVX512 void scan_avx512(const RowRange& range, const PreparedQueries& queries, Candidates& candidates) {
  scan_any(range, queries, candidates);
}
#endif

}  // namespace vectis::inline v0_1::exact
