// Interval arithmetic: the exact image of intervals under f32 operations.
#pragma once

#include <optional>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Finite ends with low <= high, or both ends the same infinity, or both NaN.
struct Interval {
  double low = 0;
  double high = 0;
  bool decided = true;  // false: the operation has a discontinuity in the interval

  [[nodiscard]] bool holds(double value) const noexcept { return low <= value && value <= high; }
};

// The image of the operand intervals (b and c if the operation has them) under the exact operation; its ends may be
// NaN. Nothing if the result is unbounded: an operand interval that reaches beyond the operation's domain or contains a
// pole. The domain of sin, cos and tan is [-angle_max, angle_max].
std::optional<Interval> interval_of(Op op, const Interval& a, const Interval& b, const Interval& c,
                                    double angle_max) noexcept;

}  // namespace vectis::inline v0_1::ir
