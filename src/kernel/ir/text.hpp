// What the writer and the reader of the text form share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

inline constexpr std::string_view text_header = "vectis-ir 1";

// "1.5", "-inf", "0x7fc00000" (a NaN with its payload), "-3", "true"; every bit comes back.
std::string constant_text(DType type, std::uint32_t bits);
// The inverse; also 0x and eight digits for any f32, i32 or u32.
std::optional<std::uint32_t> parse_constant(DType type, std::string_view text);

}  // namespace vectis::inline v0_1::ir
