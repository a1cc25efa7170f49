// exact_distance for several vectors at once.
#pragma once

#include <cstddef>
#include <span>

#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// Sums that are added in order wait for each other's additions; those of several rows do not.
inline constexpr std::size_t rows_together = 8;

// distances[i] is exact_distance of the query to rows[i], at most rows_together of them, each with query.size()
// numbers.
void row_distances(Metric distance, std::span<const float> query, std::span<const float* const> rows,
                   double* distances);

}  // namespace vectis::inline v0_1::exact
