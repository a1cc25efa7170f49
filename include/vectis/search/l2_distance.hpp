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

// Computes the Euclidean distance (Metric::l2) of every query to every vector on a device, and returns n_queries rows
// of n_vectors distances. `queries` are n_queries rows and `vectors` n_vectors rows of `dim` floats. `device` is a
// device id; without it the active device computes. Values are rounded to `precision` first (int8: in steps of the
// largest absolute value over 127; fp16: scaled by a power of two to use its range) and distances are computed in
// single precision, so they are close to exact_distance, not equal; one that exceeds the largest float is infinite.
//
// Throws InvalidInput when dim, n_queries or n_vectors is 0, when a size does not match, when a float is NaN or
// infinite, when `precision` is no enumerator, and when the device does not exist; Allocation, with
// what would fit, when queries, vectors or the result exceed what the device allocates, or host memory is short; Forked
// in a forked child; and the error of the device when a copy or kernel fails.
VECTIS_API std::vector<float> l2_distance(std::span<const float> queries, std::span<const float> vectors,
                                          std::size_t dim, std::size_t n_queries, std::size_t n_vectors,
                                          std::optional<int> device = std::nullopt,
                                          Precision precision = Precision::fp32,
                                          Runtime& runtime = Runtime::get_default());

}  // namespace vectis::inline v0_1
