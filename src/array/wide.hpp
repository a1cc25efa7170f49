// Wide values: elements of any type as double or 64-bit integers, which hold all of them exactly.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::array {

[[nodiscard]] constexpr bool is_real(DType type) noexcept {
  return type == DType::float32 || type == DType::float64 || type == DType::float16 || type == DType::bfloat16;
}

// Returns true for NaN; integers never are.
template <class Wide>
[[nodiscard]] bool is_nan(Wide value) noexcept {
  if constexpr (std::is_floating_point_v<Wide>) return std::isnan(value);
  return false;
}

// Returns a + b; integers wrap.
template <class Wide>
[[nodiscard]] Wide added(Wide a, Wide b) noexcept {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
// Returns a * b; integers wrap.
template <class Wide>
[[nodiscard]] Wide multiplied(Wide a, Wide b) noexcept {
  if constexpr (std::is_integral_v<Wide>) {
    return static_cast<Wide>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

// Reads `count` elements of a floating-point type.
void load_wide(DType type, const std::byte* from, std::size_t count, double* out);
// Reads `count` elements of an integer type or bool.
void load_wide(DType type, const std::byte* from, std::size_t count, std::int64_t* out);
// Writes `count` elements of a floating-point type, rounded to nearest.
void store_wide(DType type, const double* from, std::size_t count, std::byte* out);
// Writes `count` elements of an integer type, which wrap, or bool, where all but 0 are true.
void store_wide(DType type, const std::int64_t* from, std::size_t count, std::byte* out);
// Rounds values to float32 when `type` is a floating-point type of fewer bits than float64: within an expression
// float16 and bfloat16 have this precision.
void narrow(DType type, double* values, std::size_t count);
// Wraps values to the range of an integer type; of bool the lowest bit is kept.
void narrow(DType type, std::int64_t* values, std::size_t count);
// Returns `value` truncated to an integer of `type`: NaN becomes 0, and what exceeds 32 bits (int64: 64 bits) becomes
// the nearest of these, which then wraps to the type.
std::int64_t truncated(DType type, double value) noexcept;

}  // namespace vectis::inline v0_1::array
