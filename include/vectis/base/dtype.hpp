// Element types, and the two 16-bit floats that C++20 lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The type of one element of a buffer, view, kernel parameter or IR value. Values are stable: files store them.
enum class DType : std::uint8_t {
  float32 = 1,
  float16 = 2,
  bfloat16 = 3,
  int8 = 4,
  int32 = 5,
  boolean = 6,
  float64 = 7,
  int64 = 8,
  complex64 = 9,
  uint32 = 10,
};

VECTIS_API std::span<const DType> all_dtypes() noexcept;
VECTIS_API std::string_view name(DType type) noexcept;               // "float32"
VECTIS_API std::string_view short_name(DType type) noexcept;         // "f32", as in kernel and IR texts
VECTIS_API std::size_t size_of(DType type) noexcept;                 // bytes of one element
VECTIS_API std::optional<DType> parse_dtype(std::string_view name);  // the inverse of name; empty when unknown

// IEEE 754 binary16 in 16 bits. Conversion rounds to nearest, ties to even; NaN stays NaN, overflow is infinity.
struct Half {
  std::uint16_t bits = 0;
};
// The upper half of a binary32, with the same rounding.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

VECTIS_API Half to_half(float value) noexcept;
VECTIS_API float to_float(Half value) noexcept;
VECTIS_API Bfloat16 to_bfloat16(float value) noexcept;
VECTIS_API float to_float(Bfloat16 value) noexcept;

}  // namespace vectis::inline v0_1
