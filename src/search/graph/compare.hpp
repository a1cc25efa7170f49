// True distances in single precision: which of a few rows are nearest, before they are measured exactly.
#pragma once

#include <cstddef>

#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::graph {

// distances[i] orders rows[i] as its distance from the query does, but for rounding. Euclidean and inner product, where
// vectors are multiplied by `scale` so that their squares are no infinities, or cosine. Equal rows have equal numbers.
void compare_rows(Metric distance, const float* query, const float* const* rows, std::size_t count, std::size_t dim,
                  float scale, float* distances);

}  // namespace vectis::inline v0_1::graph
