// How far from the exact result an honest f32 implementation may be, operation by operation.
#pragma once

#include <array>
#include <optional>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// The error of a result is at most `ulps` units of its last place plus `ulps_by_size` for each unit of the last
// operand's magnitude, or `absolute` where that is more. Ulps of 0: none at all (min, floor), 0.5: correctly rounded,
// infinite: nothing is promised. Results below the smallest normal float may always become zero.
struct Accuracy {
  std::array<double, op_count> ulps{};
  std::array<double, op_count> ulps_by_size{};
  std::array<double, op_count> absolute{};
  double angle_max = 30000;    // sin, cos and tan of more are taken for anything
  double divisor_max = 1e300;  // quotients by more are taken for anything
  bool reorders = false;       // sums and products may be done in another order, fused, and not fused
};

inline constexpr double correctly_rounded = 0.5;  // ulps

// The full profile of OpenCL 1.2, and what Highway's functions state where that is more.
const Accuracy& usual_accuracy() noexcept;
// What WGSL promises, and Vulkan below it; for the functions we compute ourselves, what follows from it.
const Accuracy& shader_accuracy() noexcept;
// Of kernels printed in this dialect; without one, of the executor on the host.
const Accuracy& accuracy_of(std::optional<Dialect> dialect) noexcept;

}  // namespace vectis::inline v0_1::ir
