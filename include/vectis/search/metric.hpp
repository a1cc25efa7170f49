// Metrics and the exact distance that each of them defines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// How far two vectors are apart. Under every metric a smaller distance is nearer. The values are stored in files and
// never change.
enum class Metric : std::uint8_t {
  l2 = 1,             // Euclidean distance: the root of the sum of squared differences
  cosine = 2,         // 1 - q.x / (|q| |x|), from 0 to 2; 1 when either vector is zero
  inner_product = 3,  // -q.x, so that the largest product is nearest
  l1 = 4,             // Manhattan distance: the sum of absolute differences
  chebyshev = 5,      // the largest absolute difference
  hamming = 6,        // the number of coordinates that differ
  l2_squared = 7,     // the sum of squared differences: orders as l2 does, without the root
};

// All metrics, in the order of their values.
VECTIS_API std::span<const Metric> all_metrics() noexcept;
// "l2"; "unknown" for a value that is no metric.
VECTIS_API std::string_view name(Metric metric) noexcept;
// The metric of that name, or nothing.
VECTIS_API std::optional<Metric> parse_metric(std::string_view name);

// l2 and l2_squared, which order vectors the same way.
[[nodiscard]] constexpr bool is_euclidean(Metric metric) noexcept {
  return metric == Metric::l2 || metric == Metric::l2_squared;
}

// The distance that Hit::distance holds: summed in index order in double precision, each product and each sum rounded
// once. Precondition: both vectors have the same length. Finite coordinates give a finite distance.
VECTIS_API double exact_distance(Metric metric, std::span<const float> query, std::span<const float> vector) noexcept;

}  // namespace vectis::inline v0_1
