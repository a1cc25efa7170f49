// What the writer and the reader of the text form share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

inline constexpr std::string_view text_header = "vectis-ir 1";

// Returns a constant in the text form of the IR: "1.5", "-inf", "0x7fc00000" (a NaN with its payload), "-3" or
// "true". parse_constant() restores every bit. Requires a value type; any but bool, u32 and i32 is written as f32.
std::string constant_text(DType type, std::uint32_t bits);
// Returns the bits of a constant that constant_text() wrote, or of "0x" and eight hexadecimal digits for any f32, i32
// or u32. Returns nothing if the text is no constant of the type or is out of its range. Requires a value type.
std::optional<std::uint32_t> parse_constant(DType type, std::string_view text);

}  // namespace vectis::inline v0_1::ir
