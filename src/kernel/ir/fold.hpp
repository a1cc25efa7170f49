// What `simplify` may compute beforehand: only what every device computes to the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// The bits of an operation of constants. Nothing when devices may differ: operations that are not correctly rounded
// everywhere (div, sqrt, exp, ...), subnormal numbers, either zero of min and max; and nothing when the result is
// infinite or NaN, which not every dialect can write.
std::optional<std::uint32_t> fold(const Instruction& one, DType operand, const std::array<std::uint32_t, 3>& bits);

}  // namespace vectis::inline v0_1::ir
