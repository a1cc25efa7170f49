// What a query brings to the bound: docs/exact-search.md has the proof.
//
// A *key* is what a scan computes for a row, smaller for nearer rows: |x'|^2 - 2 u.x' under Euclidean, -u.x' under
// inner product and cosine, in the units of the segment's quantizer. The *rank* is the same in units that all segments
// share: the squared distance, minus the inner product, minus the cosine, or the distance itself. rank = key * unit +
// shift.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::exact {

// Above everything that a scan can lose by underflow, in units of a quantizer.
inline constexpr double underflow_room = 0x1p-100;

// The smallest float that is not below the value.
[[nodiscard]] float rounded_up(double value) noexcept;

// How a way wants its queries.
enum class QueryForm : std::uint8_t { int8, bf16, f32 };

// Queries made ready for one quantizer. Arrays have room for a whole number of blocks of 16; what is beyond `count`
// never lets a row through. One thread at a time.
struct PreparedQueries {
  std::size_t count = 0;
  std::size_t padded = 0;
  std::size_t row_bytes = 0;  // of one query's codes, a multiple of 64, the tail zero
  std::vector<float> gamma;   // key = offset + gamma * step * (codes of query . codes of row)
  std::vector<float> a;       // key >= estimate - a * residual - b * norm
  std::vector<float> b;
  std::vector<float> limit;  // keys above it are out
  std::vector<double> unit;
  std::vector<double> shift;
  std::vector<double> slack;          // of ranks: what rounding in double precision may add
  double rounding = 0;                // relative, of ranks computed in double precision
  std::vector<std::uint8_t> unknown;  // 1: too large for this quantizer; every row is a survivor
  Pages codes;

  // The limit of a query from a limit of its ranks.
  void set_limit(std::size_t query, double rank_limit) noexcept;
};

[[nodiscard]] PreparedQueries prepare_queries(const Quantizer& quantizer, QueryForm form,
                                              std::span<const float> queries);

// The rank of a distance, such that rows at most so far have ranks at most so large.
[[nodiscard]] double rank_of_distance(Metric metric, double value) noexcept;

}  // namespace vectis::inline v0_1::exact
