// The distances, and what each one means to the last bit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Smaller is nearer for all of them. Values are stable: they are written into files.
enum class Metric : std::uint8_t {
  l2 = 1,             // the root of the sum of squared differences
  cosine = 2,         // 1 - q.x / (|q| |x|); 1 when either is zero
  inner_product = 3,  // -q.x
  l1 = 4,             // the sum of absolute differences
  chebyshev = 5,      // the largest absolute difference
  hamming = 6,        // how many coordinates are unequal
};

VECTIS_API std::span<const Metric> all_metrics() noexcept;
VECTIS_API std::string_view name(Metric distance) noexcept;  // "l2"
VECTIS_API std::optional<Metric> parse_metric(std::string_view name);

// The truth every index answers with: sums in index order, in double precision, each product and sum rounded by itself.
// Both have the same length; finite numbers give a finite result.
VECTIS_API double exact_distance(Metric distance, std::span<const float> query, std::span<const float> vector) noexcept;

}  // namespace vectis::inline v0_1
