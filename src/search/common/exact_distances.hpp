// exact_distance of a query to several vectors at once.
#pragma once

#include <cstddef>
#include <span>

#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::detail {

// A sum in index order is a chain of dependent additions; the chains of several rows run in parallel.
inline constexpr std::size_t exact_distances_batch = 8;

// distances[i] becomes exact_distance(metric, query, rows[i]). Precondition: at most exact_distances_batch rows of
// query.size() floats.
void exact_distances(Metric metric, std::span<const float> query, std::span<const float* const> rows,
                     double* distances);

}  // namespace vectis::inline v0_1::detail
