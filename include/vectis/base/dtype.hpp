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
};

// All values of the enum, in the order of their numbers.
VECTIS_API std::span<const DType> all_dtypes() noexcept;
// "float32"; "unknown" for a value that is not in the enum.
VECTIS_API std::string_view name(DType type) noexcept;
// "f32", as in kernel and IR texts; "unknown" for a value that is not in the enum.
VECTIS_API std::string_view short_name(DType type) noexcept;
// Bytes of one element; 0 for a value that is not in the enum.
VECTIS_API std::size_t size_of(DType type) noexcept;
// The inverse of name(); empty when no type has that name.
VECTIS_API std::optional<DType> parse_dtype(std::string_view name);

// The precisions an index or a buffer can be stored in. The values are stable: they are written into files and logs.
enum class Precision : std::uint8_t { fp32 = 1, fp16 = 2, bf16 = 3, int8 = 4 };

// "fp32"; "unknown" for a value that is not in the enum.
VECTIS_API std::string_view name(Precision precision) noexcept;
// The element type that stores the precision: fp16 is DType::float16. float32 for a value that is not in the enum.
VECTIS_API DType dtype_of(Precision precision) noexcept;
// Bytes of one element.
VECTIS_API std::size_t size_of(Precision precision) noexcept;

// IEEE 754 binary16 as its 16 bits. Conversion from float rounds to nearest, ties to even; NaN stays NaN, overflow
// becomes infinity.
struct Half {
  std::uint16_t bits = 0;
};
// bfloat16, the upper 16 bits of a binary32, with the same rounding.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

// to_half and to_bfloat16 round as described above; to_float is exact. They never fail.
VECTIS_API Half to_half(float value) noexcept;
VECTIS_API float to_float(Half value) noexcept;
VECTIS_API Bfloat16 to_bfloat16(float value) noexcept;
VECTIS_API float to_float(Bfloat16 value) noexcept;

}  // namespace vectis::inline v0_1
