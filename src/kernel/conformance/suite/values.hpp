// Numbers as the references see them: doubles, and the bits an element type keeps of them. Written with arithmetic on
// doubles alone, so that it shares no line and no trick with the conversions it judges.
#pragma once

#include <cstdint>

#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::conformance {

// float32, float16 and bfloat16.
bool is_float(DType type) noexcept;
// What the bits of one element mean; exact for every type an operation takes.
double value_of(DType type, std::uint32_t bits) noexcept;
// The element nearest to `value`, ties to even. Floats overflow to infinity and keep NaN (as one quiet pattern) and the
// sign of zero; integers saturate and take NaN to zero.
std::uint32_t bits_of(DType type, double value) noexcept;
// Whether the bits are a NaN of the type; never for integers.
bool is_nan(DType type, std::uint32_t bits) noexcept;

}  // namespace vectis::inline v0_1::conformance
