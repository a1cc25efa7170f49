#include "search/exact/offer.hpp"

#include <bit>

namespace vectis::inline v0_1::exact {

void offer_group(const ScanPiece& piece, std::size_t group, const PreparedQueries& queries, std::size_t query,
                 const float* estimates, std::uint32_t mask, Survivors& survivors) {
  const CodeRun& run = *piece.run;
  const float offset_loose = 2.5F * loosening(piece.frame().dim);
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
    const std::size_t row = group * group_rows + lane;
    if (row >= run.rows) return;
    const float margin = queries.a[query] * run.residual[row] + queries.b[query] * run.norm[row];
    const float lower = estimates[lane] - margin;
    if (lower > queries.limit[query]) continue;
    survivors.take(query, run.first_row + row, lower, 2.01F * margin + offset_loose * run.offset[row] + 0x1p-99F);
  }
}

void offer_differences(const ScanPiece& piece, std::size_t block, const PreparedQueries& queries, std::size_t query,
                       const float* sums, std::uint32_t mask, Survivors& survivors) {
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(mask));
    const std::size_t row = block * group_rows + lane;
    if (row >= piece.segment->rows) return;
    const float margin = queries.a[query] * sums[lane];
    const float lower = sums[lane] - margin;
    if (lower > queries.limit[query]) continue;
    survivors.take(query, row, lower, 2.5F * margin);
  }
}

}  // namespace vectis::inline v0_1::exact
