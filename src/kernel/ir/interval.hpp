// Interval arithmetic: intervals that enclose the results of f32 operations.
#pragma once

#include <optional>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// A set of f32 values: all from low to high if the ends are finite (low <= high), else one infinity or NaN, which
// both ends equal.
struct Interval {
  double low = 0;
  double high = 0;
  bool decided = true;  // false: the operation has a discontinuity in the interval

  // Returns whether the interval contains `value`; false if an end or `value` is NaN.
  [[nodiscard]] bool holds(double value) const noexcept { return low <= value && value <= high; }
};

// Returns an interval that contains all results of the exact operation on the operand intervals (b and c are ignored
// if the operation has no such operand). Requires an operation from f32 to f32; does not throw. Returns NaN ends if
// an operand lies wholly outside the domain (sqrt, log, asin) or is an infinite angle. Returns nothing if an operand
// overlaps the domain's end or a pole (a divisor that contains 0), or an angle leaves [-angle_max, angle_max].
std::optional<Interval> interval_of(Op op, const Interval& a, const Interval& b, const Interval& c,
                                    double angle_max) noexcept;

}  // namespace vectis::inline v0_1::ir
