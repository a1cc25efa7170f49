// The scalar semantics of every operation: f32 in double precision, integers in 32 bits. Passes, the interpreter and
// its error bounds share them.
#pragma once

#include <array>
#include <cstdint>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Computes an operation from f32 to f32 in double precision. Operands beyond the operation's count are ignored.
// Returns NaN for an operation of another type and for operands outside the domain, such as sqrt(-1).
double float_op(Op op, double a, double b = 0, double c = 0) noexcept;
// Computes a comparison as IEEE 754 defines it: with a NaN, all but ne are false. Requires eq, ne, lt, le, gt or ge;
// any other operation is treated as ne.
bool compare_floats(Op op, double a, double b) noexcept;

// Computes an operation on operands of type i32, u32 or bool (0 or 1) and returns the bits of the result, which has
// the operands' type, or bool for comparisons. Sums and products wrap, division and remainder by 0 return 0, and
// shifts take their count modulo 32. Requires an operation that takes integers; any other is treated as ne.
std::uint32_t integer_op(Op op, DType operand, std::uint32_t a, std::uint32_t b = 0) noexcept;

// Converts a float to i32, u32 or bool and returns the bits. Integers are truncated toward zero and saturated, and
// NaN becomes 0; a bool is true for every nonzero value, NaN included. Does not throw.
std::uint32_t float_to_integer(double value, DType to) noexcept;
// Converts an i32, u32 or bool (0 or 1) to the double of equal value, which is always exact. Does not throw.
double integer_to_float(std::uint32_t bits, DType from) noexcept;
// Converts an i32, u32 or bool to another of these types: to bool, 0 becomes 0 and every other value 1; else the bits
// stay, so that integers wrap. Does not throw.
std::uint32_t integer_to_integer(std::uint32_t bits, DType to) noexcept;

// Coefficients of erf, for the CPU vector VM and for dialects without an erf. The error is at most 4 ulps.
//   |x| < 1:  x * (near[0] + near[1] x^2 + near[2] x^4 + ...)
//   else:     sign(x) * (1 - exp(-t * (far[0] + far[1] t + ...))) with t = min(|x|, 4)
// Both polynomials interpolate at Chebyshev nodes; `far` approximates -log(erfc(t)) / t on [0.95, 4].
inline constexpr std::array<float, 8> erf_near = {
    1.128379225730896F,    -0.37612637877464294F,   0.11283782124519348F,    -0.026865430176258087F,
    0.005221031606197357F, -0.0008484080317430198F, 0.00011265958892181516F, -9.667044650996104e-06F};
inline constexpr std::array<float, 8> erf_far = {
    1.1289235353469849F,   0.6340800523757935F,     0.10794755071401596F,    -0.02520582638680935F,
    0.004331470932811499F, -0.0005055421497672796F, 3.5268029023427516e-05F, -1.0941361097138724e-06F};

}  // namespace vectis::inline v0_1::ir
