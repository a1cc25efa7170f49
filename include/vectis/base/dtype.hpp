// Element types, the precisions that users choose among, and the two 16-bit floats that C++20 lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The type of one element of a buffer, view, kernel parameter or IR value. The values are stable: they are written into
// files and cross the backend ABI.
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
  uint8 = 11,
};

// Returns all values of DType in increasing order; valid until the process ends. Does not throw.
VECTIS_API std::span<const DType> all_dtypes() noexcept;
// Returns the name of an element type, such as "float32"; "unknown" for a value that is not in the enum. Does not
// throw.
VECTIS_API std::string_view name(DType type) noexcept;
// Returns the short name of an element type in kernel and IR texts, such as "f32"; "unknown" for a value that is not
// in the enum. Does not throw.
VECTIS_API std::string_view short_name(DType type) noexcept;
// Returns the bytes of one element of this type; 0 for a value that is not in the enum. Does not throw.
VECTIS_API std::size_t size_of(DType type) noexcept;
// Returns the element type whose name(), such as "float32", equals `name` in the same case; empty when no type has
// that name. Short names such as "f32" are not accepted.
VECTIS_API std::optional<DType> parse_dtype(std::string_view name);

// The precision in which an index or a buffer stores its elements. The values are stable: they are written into files
// and logs.
enum class Precision : std::uint8_t { fp32 = 1, fp16 = 2, bf16 = 3, int8 = 4 };

// Returns the name of a precision, such as "fp32"; "unknown" for a value that is not in the enum. Does not throw.
VECTIS_API std::string_view name(Precision precision) noexcept;
// Returns the element type that stores a precision: DType::float16 for fp16. Returns DType::float32 for a value that
// is not in the enum. Does not throw.
VECTIS_API DType dtype_of(Precision precision) noexcept;
// Returns the bytes of one element stored in this precision; 4 for a value that is not in the enum. Does not throw.
VECTIS_API std::size_t size_of(Precision precision) noexcept;

// An IEEE 754 binary16 number as its 16 bits. to_half converts from float and to_float to float.
struct Half {
  std::uint16_t bits = 0;
};
// A bfloat16 number, the upper 16 bits of an IEEE 754 binary32. to_bfloat16 converts from float and to_float to
// float.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

// Rounds `value` to the nearest binary16, ties to even. NaN stays NaN; a value beyond the largest finite binary16
// becomes infinity. Does not throw.
VECTIS_API Half to_half(float value) noexcept;
// Converts a binary16 to float without rounding; NaN stays NaN and infinity stays infinity. Does not throw.
VECTIS_API float to_float(Half value) noexcept;
// Rounds `value` to the nearest bfloat16, ties to even. NaN stays NaN; a value beyond the largest finite bfloat16
// becomes infinity. Does not throw.
VECTIS_API Bfloat16 to_bfloat16(float value) noexcept;
// Converts a bfloat16 to float without rounding; NaN stays NaN and infinity stays infinity. Does not throw.
VECTIS_API float to_float(Bfloat16 value) noexcept;

}  // namespace vectis::inline v0_1
