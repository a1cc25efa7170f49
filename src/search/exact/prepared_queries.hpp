// Queries prepared for the bound of a segment; docs/exact-search.md has the proof.
//
// A scan computes the *key* of a row, smaller for nearer rows: |x'|^2 - 2 u.x' under l2, -u.x' under inner product
// and cosine, in the units of the segment's quantizer. The *rank* is the key in units that all segments share: the
// squared distance, minus the inner product, minus the cosine, or the distance itself. rank = key * unit + shift.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::exact {

// An upper bound of the error of a scanned key by underflow, in units of a quantizer.
inline constexpr double underflow_room = 0x1p-100;

// Returns the smallest float that is not below `value`. Does not throw.
[[nodiscard]] float rounded_up(double value) noexcept;

// The element type of the query codes that a scan kernel multiplies by the codes of rows.
enum class QueryForm : std::uint8_t { int8, bf16, f32 };

// Queries encoded for one quantizer, with the terms of the bound and the limit of each query. gamma, a, b, limit and
// codes are padded to blocks of 16 queries with limits that no row passes. One thread at a time.
struct PreparedQueries {
  std::size_t count = 0;
  std::size_t padded = 0;
  std::size_t row_bytes = 0;  // of one query's codes, padded with zeros to a multiple of 64
  std::vector<float> gamma;   // key = offset + gamma * step * (codes of query . codes of row)
  std::vector<float> a;       // key >= estimate - a * residual - b * norm
  std::vector<float> b;
  std::vector<float> limit;  // rows with larger keys are ruled out
  std::vector<double> unit;
  std::vector<double> shift;
  std::vector<double> rank_error;     // absolute rounding error of ranks
  double rounding = 0;                // relative rounding error of ranks
  std::vector<std::uint8_t> unknown;  // 1: too large for this quantizer, every row passes
  Pages codes;
  Pages tiles;  // of pack_tiles

  // Sets limit[query], the largest key that a scan keeps, from a limit of ranks, rounded up so that no row is lost.
  // The limit of a query that is too large for the quantizer stays infinite. Precondition: query < count. Does not
  // throw.
  void set_limit(std::size_t query, double rank_limit) noexcept;
};

// Encodes rows of quantizer.dim floats as queries of the given form, with limits that every row passes; with the
// threads of `executor` unless it is null. Preconditions, not checked: finite floats and whole rows. Throws Allocation
// or std::bad_alloc when memory is exhausted.
[[nodiscard]] PreparedQueries prepare_queries(const Quantizer& quantizer, QueryForm form,
                                              std::span<const float> queries, Executor* executor = nullptr);

// Lays the codes out as AMX multiplies them: tile (block, chunk) of 1,024 bytes at (block * chunks + chunk) * 1024
// holds word i of the 16 queries of the block, for i = 0 to 15. Throws Allocation when memory is exhausted.
void pack_tiles(PreparedQueries& queries);

// Returns an upper bound of the ranks of all rows whose distance under `metric` is at most `value`; -1 for a negative
// l2 or l2_squared distance, which no row has. `value` must not be NaN. Does not throw.
[[nodiscard]] double rank_of_distance(Metric metric, double value) noexcept;

}  // namespace vectis::inline v0_1::exact
