// Rounding in two steps that equals one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace vectis::inline v0_1 {

// Returns `value` as a float rounded to odd: exact if possible, else that one of its two neighbors whose last bit is
// set. Rounding the result to Half or Bfloat16 then equals rounding `value` itself, where a float rounded to nearest
// would be rounded twice (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). NaN stays NaN.
// Does not throw.
[[nodiscard]] inline float round_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;  // towards zero; infinity: the largest float
  return std::bit_cast<float>(bits | 1U);
}

}  // namespace vectis::inline v0_1
