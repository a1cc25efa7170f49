#include "kernel/ir/interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

#include "kernel/ir/scalar_ops.hpp"

namespace vectis::inline v0_1::ir {

namespace {

using std::numbers::pi;
using MaybeInterval = std::optional<Interval>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The smallest interval that contains all ends; nothing if only some of them are NaN.
MaybeInterval hull(std::initializer_list<double> ends) noexcept {
  const auto nans = std::ranges::count_if(ends, [](double end) { return std::isnan(end); });
  if (nans == static_cast<std::ptrdiff_t>(ends.size())) return Interval{nan, nan};
  if (nans > 0) return std::nullopt;
  return Interval{std::min(ends), std::max(ends)};
}

MaybeInterval monotone(Op op, const Interval& a) noexcept { return hull({float_op(op, a.low), float_op(op, a.high)}); }

// For operations with discontinuities.
MaybeInterval stepped(Op op, const Interval& a) noexcept {
  MaybeInterval range = monotone(op, a);
  if (range) range->decided = !(range->low < range->high);
  return range;
}

// For operations with the domain [from, to], or (from, to] if `open`.
MaybeInterval within(Op op, const Interval& a, double from, double to, bool open) noexcept {
  if (std::isnan(a.low) || a.high < from || a.low > to) return Interval{nan, nan};
  const bool inside = a.high <= to && (open ? a.low > from : a.low >= from);
  return inside ? monotone(op, a) : std::nullopt;
}

MaybeInterval angle(Op op, const Interval& a, double angle_max) noexcept {
  if (!std::isfinite(a.low)) return Interval{nan, nan};
  if (a.low < -angle_max || a.high > angle_max) return std::nullopt;
  if (op == Op::tan) {
    if (std::floor(a.low / pi + 0.5) != std::floor(a.high / pi + 0.5)) return std::nullopt;
    return monotone(op, a);
  }
  const double half = (a.high - a.low) / 2;
  const double middle = float_op(op, a.low + half);  // the slope is at most 1
  return Interval{std::max(-1.0, middle - half), std::min(1.0, middle + half)};
}

MaybeInterval magnitude(const Interval& a) noexcept {
  const double low = std::fabs(a.low);
  const double high = std::fabs(a.high);
  return a.holds(0) ? hull({0, low, high}) : hull({low, high});
}

// For operations monotone in each operand: the extremes are at the corners.
MaybeInterval corners(Op op, const Interval& a, const Interval& b) noexcept {
  return hull({float_op(op, a.low, b.low), float_op(op, a.low, b.high), float_op(op, a.high, b.low),
               float_op(op, a.high, b.high)});
}

MaybeInterval fused(const Interval& a, const Interval& b, const Interval& c) noexcept {
  const auto at = [&](double x, double y, double z) { return std::fma(x, y, z); };
  return hull({at(a.low, b.low, c.low), at(a.low, b.high, c.low), at(a.high, b.low, c.low), at(a.high, b.high, c.low),
               at(a.low, b.low, c.high), at(a.low, b.high, c.high), at(a.high, b.low, c.high),
               at(a.high, b.high, c.high)});
}

MaybeInterval divided(const Interval& a, const Interval& b) noexcept {
  if (b.holds(0)) return std::nullopt;
  return corners(Op::div, a, b);
}

MaybeInterval remainder(const Interval& a, const Interval& b) noexcept {
  const bool points = !(a.low < a.high) && !(b.low < b.high);
  if (points) return corners(Op::rem, a, b);
  const MaybeInterval quotient = divided(a, b);
  if (!quotient || !std::isfinite(a.low) || !std::isfinite(b.low)) return std::nullopt;
  const double times = std::trunc(quotient->low);
  if (times == std::trunc(quotient->high)) {
    // a - times * b, which fmod computes exactly.
    return hull({std::fma(-times, b.low, a.low), std::fma(-times, b.high, a.low), std::fma(-times, b.low, a.high),
                 std::fma(-times, b.high, a.high)});
  }
  const double most = std::max(std::fabs(b.low), std::fabs(b.high));
  return Interval{a.low < 0 ? -most : 0, a.high > 0 ? most : 0, false};
}

MaybeInterval power(const Interval& a, const Interval& b) noexcept {
  const bool points = !(a.low < a.high) && !(b.low < b.high);
  if (a.low > 0 || (points && a.low != 0)) return corners(Op::pow, a, b);
  return std::nullopt;
}

MaybeInterval direction(const Interval& y, const Interval& x) noexcept {
  if (y.holds(0) && x.low <= 0)
    return Interval{-pi, pi, false};  // crosses the branch cut, or depends on the sign of zero
  return corners(Op::atan2, y, x);
}

}  // namespace

MaybeInterval interval_of(Op op, const Interval& a, const Interval& b, const Interval& c, double angle_max) noexcept {
  constexpr double far = std::numeric_limits<double>::infinity();
  switch (op) {
    case Op::mul:
      return corners(op, a, b);
    case Op::add:
    case Op::min:
    case Op::max:
      return hull({float_op(op, a.low, b.low), float_op(op, a.high, b.high)});
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
