// exact_distance of a query to several vectors at once.
#pragma once

#include <cstddef>
#include <span>

#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::detail {

// The largest number of rows of one exact_distances call. A sum in index order is a chain of dependent additions; the
// CPU overlaps the chains of several rows.
inline constexpr std::size_t exact_distances_batch = 8;

// Writes exact_distance(metric, query, rows[i]) to distances[i] for every row. Preconditions, not checked: 1 to
// exact_distances_batch rows, each of query.size() floats, and room for rows.size() distances. Does not throw.
void exact_distances(Metric metric, std::span<const float> query, std::span<const float* const> rows,
                     double* distances);

}  // namespace vectis::inline v0_1::detail
