// The meaning of each operation on one element: f32 in double, integers in 32 bits. Passes, the interpreter and its
// error bounds share it.
#pragma once

#include <cstdint>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Operations of f32 that give f32; operands an operation has not are ignored.
double real_op(Op op, double a, double b = 0, double c = 0) noexcept;
bool compare_reals(Op op, double a, double b) noexcept;

// Operations of i32, u32 and bool (as 0 or 1) that give the same type or, comparisons, bool.
std::uint32_t whole_op(Op op, DType operand, std::uint32_t a, std::uint32_t b = 0) noexcept;

// By value. `real_to_whole` truncates and saturates, NaN is zero; to bool: unequal zero.
std::uint32_t real_to_whole(double value, DType to) noexcept;
double whole_to_real(std::uint32_t bits, DType from) noexcept;
std::uint32_t whole_to_whole(std::uint32_t bits, DType to) noexcept;

}  // namespace vectis::inline v0_1::ir
