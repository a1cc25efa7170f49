// The exact functions of f32 operations over intervals.
#pragma once

#include <optional>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// All finite and low <= high, or all three one infinity or NaN.
struct Range {
  double low = 0;
  double high = 0;
  bool decided = true;  // false: the ends are on two sides of a jump

  [[nodiscard]] bool holds(double value) const noexcept { return low <= value && value <= high; }
};

// What the operation, computed exactly, gives for operands in these ranges (b and c where it has them); its ends may be
// NaN. Nothing when it may be anything: a range that reaches beyond the operation's domain or to a pole. Angles of more
// than `angle_max` count as beyond.
std::optional<Range> range_of(Op op, const Range& a, const Range& b, const Range& c, double angle_max) noexcept;

}  // namespace vectis::inline v0_1::ir
