#include "kernel/ir/ranges.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "kernel/ir/scalar.hpp"

namespace vectis::inline v0_1::ir {

namespace {

using std::numbers::pi;
using MaybeRange = std::optional<Range>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Around all of them. NaN among numbers: anything.
MaybeRange hull(std::initializer_list<double> ends) noexcept {
  const auto nans = std::ranges::count_if(ends, [](double end) { return std::isnan(end); });
  if (nans == static_cast<std::ptrdiff_t>(ends.size())) return Range{nan, nan};
  if (nans > 0) return std::nullopt;
  return Range{std::min(ends), std::max(ends)};
}

MaybeRange monotone(Op op, const Range& a) noexcept { return hull({real_op(op, a.low), real_op(op, a.high)}); }

// For operations that jump.
MaybeRange stepped(Op op, const Range& a) noexcept {
  MaybeRange range = monotone(op, a);
  if (range) range->decided = !(range->low < range->high);
  return range;
}

// An operation of [from, to], or of numbers above `from` alone.
MaybeRange within(Op op, const Range& a, double from, double to, bool open) noexcept {
  if (std::isnan(a.low) || a.high < from || a.low > to) return Range{nan, nan};
  const bool inside = a.high <= to && (open ? a.low > from : a.low >= from);
  return inside ? monotone(op, a) : std::nullopt;
}

MaybeRange angle(Op op, const Range& a, double angle_max) noexcept {
  if (!std::isfinite(a.low)) return Range{nan, nan};
  if (a.low < -angle_max || a.high > angle_max) return std::nullopt;
  if (op == Op::tan) {
    if (std::floor(a.low / pi + 0.5) != std::floor(a.high / pi + 0.5)) return std::nullopt;
    return monotone(op, a);
  }
  const double half = (a.high - a.low) / 2;
  const double middle = real_op(op, a.low + half);  // and no slope is steeper than 1
  return Range{std::max(-1.0, middle - half), std::min(1.0, middle + half)};
}

MaybeRange magnitude(const Range& a) noexcept {
  const double low = std::fabs(a.low);
  const double high = std::fabs(a.high);
  return a.holds(0) ? hull({0, low, high}) : hull({low, high});
}

// Monotone in each operand: the extremes are at the corners.
MaybeRange corners(Op op, const Range& a, const Range& b) noexcept {
  return hull(
      {real_op(op, a.low, b.low), real_op(op, a.low, b.high), real_op(op, a.high, b.low), real_op(op, a.high, b.high)});
}

MaybeRange fused(const Range& a, const Range& b, const Range& c) noexcept {
  const auto at = [&](double x, double y, double z) { return std::fma(x, y, z); };
  return hull({at(a.low, b.low, c.low), at(a.low, b.high, c.low), at(a.high, b.low, c.low), at(a.high, b.high, c.low),
               at(a.low, b.low, c.high), at(a.low, b.high, c.high), at(a.high, b.low, c.high),
               at(a.high, b.high, c.high)});
}

MaybeRange divided(const Range& a, const Range& b) noexcept {
  if (b.holds(0)) return std::nullopt;
  return corners(Op::div, a, b);
}

MaybeRange remainder(const Range& a, const Range& b) noexcept {
  const bool points = !(a.low < a.high) && !(b.low < b.high);
  if (points) return corners(Op::rem, a, b);
  const MaybeRange quotient = divided(a, b);
  if (!quotient || !std::isfinite(a.low) || !std::isfinite(b.low)) return std::nullopt;
  const double times = std::trunc(quotient->low);
  if (times == std::trunc(quotient->high)) {
    // a - times * b, which is exact for the implementation's own a and b.
    return hull({std::fma(-times, b.low, a.low), std::fma(-times, b.high, a.low), std::fma(-times, b.low, a.high),
                 std::fma(-times, b.high, a.high)});
  }
  const double most = std::max(std::fabs(b.low), std::fabs(b.high));
  return Range{a.low < 0 ? -most : 0, a.high > 0 ? most : 0, false};
}

MaybeRange power(const Range& a, const Range& b) noexcept {
  const bool points = !(a.low < a.high) && !(b.low < b.high);
  if (a.low > 0 || (points && a.low != 0)) return corners(Op::pow, a, b);
  return std::nullopt;
}

MaybeRange direction(const Range& y, const Range& x) noexcept {
  if (y.holds(0) && x.low <= 0) return Range{-pi, pi, false};  // on two sides of the cut, or signs of zero
  return corners(Op::atan2, y, x);
}

}  // namespace

MaybeRange range_of(Op op, const Range& a, const Range& b, const Range& c, double angle_max) noexcept {
  constexpr double far = std::numeric_limits<double>::infinity();
  switch (op) {
    case Op::mul:
      return corners(op, a, b);
    case Op::add:
    case Op::min:
    case Op::max:
      return hull({real_op(op, a.low, b.low), real_op(op, a.high, b.high)});
    case Op::sub:
      return hull({a.low - b.high, a.high - b.low});
    case Op::div:
      return divided(a, b);
    case Op::rem:
      return remainder(a, b);
    case Op::fma:
      return fused(a, b, c);
    case Op::abs:
      return magnitude(a);
    case Op::sqrt:
      return within(op, a, 0, far, false);
    case Op::rsqrt:
    case Op::log:
    case Op::log2:
      return within(op, a, 0, far, true);
    case Op::asin:
    case Op::acos:
      return within(op, a, -1, 1, false);
    case Op::sin:
    case Op::cos:
    case Op::tan:
      return angle(op, a, angle_max);
    case Op::pow:
      return power(a, b);
    case Op::atan2:
      return direction(a, b);
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc:
    case Op::sign:
      return stepped(op, a);
    default:
      return monotone(op, a);
  }
}

}  // namespace vectis::inline v0_1::ir
