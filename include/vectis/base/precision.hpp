// The precisions users choose among, as element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Values are stable: they are written into files and logs.
enum class Precision : std::uint8_t { fp32 = 1, fp16 = 2, bf16 = 3, int8 = 4 };

VECTIS_API std::string_view name(Precision precision) noexcept;  // "fp32"
VECTIS_API DType dtype_of(Precision precision) noexcept;
// Bytes of one element.
VECTIS_API std::size_t size_of(Precision precision) noexcept;

}  // namespace vectis::inline v0_1
