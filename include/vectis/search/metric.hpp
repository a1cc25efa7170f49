// Metrics and the exact distance that each of them defines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The function that computes the distance of a query q and a vector x. Under every metric a smaller distance is
// nearer. The enumerators' values are stored in files and never change.
enum class Metric : std::uint8_t {
  l2 = 1,             // Euclidean distance: the root of the sum of squared differences
  cosine = 2,         // 1 - q.x / (|q| |x|), from 0 to 2; 1 when either vector is zero
  inner_product = 3,  // -q.x, so that the largest product is nearest
  l1 = 4,             // Manhattan distance: the sum of absolute differences
  chebyshev = 5,      // the largest absolute difference
  hamming = 6,        // the number of coordinates that differ
  l2_squared = 7,     // the sum of squared differences: orders as l2 does, without the root
};

// Returns all metrics in the order of their values. The span is valid for the life of the program.
VECTIS_API std::span<const Metric> all_metrics() noexcept;
// Returns the name of the metric, such as "l2" or "inner_product", and "unknown" for a value that is no metric. The
// inverse of parse_metric. Does not throw.
VECTIS_API std::string_view name(Metric metric) noexcept;
// Returns the metric with exactly this name, such as "l2" (lower case), or nullopt when no metric has it.
VECTIS_API std::optional<Metric> parse_metric(std::string_view name);

// Returns true for l2 and l2_squared, which order vectors equally, and false for every other metric.
[[nodiscard]] constexpr bool is_euclidean(Metric metric) noexcept {
  return metric == Metric::l2 || metric == Metric::l2_squared;
}

// Returns the distance that Hit::distance holds: summed in index order in double precision, each product and sum
// rounded once. Precondition, not checked: both vectors have the same length. Finite coordinates give a finite
// distance; a value that is no metric gives 0. Does not throw.
VECTIS_API double exact_distance(Metric metric, std::span<const float> query, std::span<const float> vector) noexcept;

}  // namespace vectis::inline v0_1
