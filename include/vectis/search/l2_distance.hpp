// Distances of all queries to all vectors, without an index.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis::inline v0_1 {

// The Euclidean distance of query i to vector j is element i * n_vectors + j. Computed in float on the device with this
// id, the active one if none is given, from numbers rounded to `precision`: int8 in steps of the largest number over
// 127, fp16 after a power of two that brings the largest near its top.
//
// InvalidInput when dim, n_queries or n_vectors is 0, when sizes do not agree or their product is no size, when a
// number is not finite, or when there is no such device; Allocation when the device or the host has no memory for it.
VECTIS_API std::vector<float> l2_distance(std::span<const float> queries, std::span<const float> corpus,
                                          std::size_t dim, std::size_t n_queries, std::size_t n_vectors,
                                          std::optional<int> device = std::nullopt,
                                          Precision precision = Precision::fp32,
                                          Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
