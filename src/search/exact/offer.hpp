// The end of every way to scan: which rows of a group are still in, by their own bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/exact/encode.hpp"
#include "search/exact/scan.hpp"

namespace vectis::inline v0_1::exact {

// What the bounds of a whole group may add to a query's limit: estimates above it are out, whatever their row.
// Rounded up by more than its own computation can lose.
inline float group_limit(const CodeRun& run, std::size_t group, const PreparedQueries& queries,
                         std::size_t query) noexcept {
  const float margin = queries.a[query] * run.group_residual[group] + queries.b[query] * run.group_norm[group];
  return queries.limit[query] + margin * (1.0F + 0x1p-18F);
}

// `estimates` are the keys of the group's 16 rows as computed, bit r of `mask` is set for those not above group_limit.
void offer_group(const ScanPiece& piece, std::size_t group, const PreparedQueries& queries, std::size_t query,
                 const float* estimates, std::uint32_t mask, Survivors& survivors);

// The same for sums of differences, whose bound is relative to the sum.
void offer_differences(const ScanPiece& piece, std::size_t block, const PreparedQueries& queries, std::size_t query,
                       const float* sums, std::uint32_t mask, Survivors& survivors);

}  // namespace vectis::inline v0_1::exact
