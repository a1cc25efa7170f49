// erf as the executor and the dialects without one compute it, within 4 ulp:
//   |x| < 1: x * (near[0] + near[1] x^2 + ...), else 1 - exp(-t * (far[0] + far[1] t + ...)) with t = min(|x|, 4) and
// the sign of x. Both polynomials interpolate at Chebyshev nodes; `far` is -log(erfc(t)) / t on [0.95, 4].
#pragma once

#include <array>

namespace vectis::inline v0_1::ir {

inline constexpr std::array<float, 8> erf_near = {
    1.128379225730896F,    -0.37612637877464294F,   0.11283782124519348F,    -0.026865430176258087F,
    0.005221031606197357F, -0.0008484080317430198F, 0.00011265958892181516F, -9.667044650996104e-06F};
inline constexpr std::array<float, 8> erf_far = {
    1.1289235353469849F,   0.6340800523757935F,     0.10794755071401596F,    -0.02520582638680935F,
    0.004331470932811499F, -0.0005055421497672796F, 3.5268029023427516e-05F, -1.0941361097138724e-06F};

}  // namespace vectis::inline v0_1::ir
