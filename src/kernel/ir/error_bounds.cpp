#include "kernel/ir/error_bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <span>

#include "kernel/ir/interval.hpp"
#include "kernel/ir/scalar_ops.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::ir {

namespace {

using Table = std::array<double, op_count>;

void set(Table& table, double value, std::initializer_list<Op> ops) {
  for (const Op op : ops) table[static_cast<std::size_t>(op)] = value;
}

Accuracy make_default() {
  Accuracy accuracy;
  set(accuracy.ulps, correctly_rounded, {Op::add, Op::sub, Op::mul, Op::fma, Op::convert});
  set(accuracy.ulps, 2.5, {Op::div});
  set(accuracy.ulps, 3, {Op::sqrt, Op::exp, Op::exp2, Op::log2});
  set(accuracy.ulps, 4, {Op::log, Op::sin, Op::cos, Op::asin, Op::acos, Op::rsqrt});
  set(accuracy.ulps, 5, {Op::tan, Op::tanh, Op::atan});
  set(accuracy.ulps, 6, {Op::atan2});
  set(accuracy.ulps, 16, {Op::pow, Op::erf});
  return accuracy;
}

// From the WGSL specification: section "Accuracy of Concrete Floating Point Expressions", in its order, and section
// "Reassociation and Fusion", since Mesa's drivers turn x + (a - c) + c into x + a.
//
// The bounds of our own helper functions (spelling.cpp) follow from it:
//   tanh = (e - 1) / (e + 1) with e = exp(2t), t >= 0.25. The 3 + 4t ulps of e are at most 8 ulps of the result, the
//     quotient adds 2.5 and the two sums 1 each.
//   erf subtracts from 1 an exp of at most 0.16 with an argument of at most 16: (3 + 32) * 0.16 ulps, doubled for the
//     rounding of the argument.
//   atan2 is atan, or atan subtracted from a larger constant.
//   pow = exp2(z) with z = y log2(x), |z| < 150: 3 + 2|z| ulps for exp2; 3 for log2 and 1 for the product, both times
//     ln 2 |z|; and near x = 1 the absolute error 2^-21 of log2 times ln 2 |y|, which is 3 ulps per unit of y.
Accuracy make_shader() {
  Accuracy accuracy;
  accuracy.reorders = true;
  set(accuracy.ulps, correctly_rounded, {Op::add, Op::sub, Op::mul, Op::fma, Op::convert});
  set(accuracy.ulps, 2.5, {Op::div});
  accuracy.divisor_max = 0x1p126;
  set(accuracy.absolute, 0x1p-11, {Op::sin, Op::cos});  // between -pi and pi
  set(accuracy.ulps, 1, {Op::sin, Op::cos});
  accuracy.angle_max = std::numbers::pi;
  set(accuracy.ulps, std::numeric_limits<double>::infinity(), {Op::tan});  // sin / cos
  set(accuracy.ulps, 3, {Op::exp, Op::exp2});
  set(accuracy.ulps_by_size, 2, {Op::exp, Op::exp2});
  set(accuracy.absolute, 0x1p-21, {Op::log, Op::log2});  // between 0.5 and 2
  set(accuracy.ulps, 3, {Op::log, Op::log2});
  set(accuracy.ulps, 2, {Op::rsqrt});
  set(accuracy.ulps, 5, {Op::sqrt});  // 1 / rsqrt
  set(accuracy.ulps, 4096, {Op::atan});
  set(accuracy.ulps, 4100, {Op::atan2, Op::asin, Op::acos});
  set(accuracy.absolute, 0x1p-10, {Op::asin, Op::acos});  // as atan2(x, sqrt(1 - x * x)): near 1 the root has 12 bits
  set(accuracy.ulps, 14, {Op::tanh});
  set(accuracy.ulps, 24, {Op::erf});
  set(accuracy.ulps, 750, {Op::pow});
  set(accuracy.ulps_by_size, 3, {Op::pow});
  return accuracy;
}

}  // namespace

const Accuracy& default_accuracy() noexcept {
  static const Accuracy accuracy = make_default();
  return accuracy;
}

const Accuracy& shader_accuracy() noexcept {
  static const Accuracy accuracy = make_shader();
  return accuracy;
}

const Accuracy& accuracy_of(std::optional<Dialect> dialect) noexcept {
  const bool shader = dialect == Dialect::wgsl || dialect == Dialect::glsl_webgpu || dialect == Dialect::glsl_vulkan;
  return shader ? shader_accuracy() : default_accuracy();
}

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double float_max = std::numeric_limits<float>::max();
constexpr double float_min = std::numeric_limits<float>::min();

double ulp(double magnitude) {
  constexpr int fraction = 23;
  constexpr int smallest = -149;
  return std::ldexp(1.0, magnitude == 0 ? smallest : std::max(std::ilogb(magnitude) - fraction, smallest));
}

BoundedValue unbounded(double value) { return {value, -infinity, infinity, 0, false, false}; }

double to_float(double value) { return static_cast<double>(static_cast<float>(value)); }

// The results of an implementation whose error is at most `ulps` units in the last place or `absolute`, whichever is
// larger, for an exact result in `range`, joined with the interpreter's `value`.
BoundedValue enclose(double value, const Interval& range, double ulps, double absolute = 0) {
  double low = range.low;
  double high = range.high;
  if (!std::isfinite(value) || !std::isfinite(low) || !std::isfinite(high)) {
    const bool all_nan = std::isnan(value) && std::isnan(low) && std::isnan(high);
    const bool one_infinity = value == low && low == high;
    return all_nan || one_infinity ? BoundedValue{value, value, value, 0, true, range.decided} : unbounded(value);
  }
  if (ulps > correctly_rounded) {
    const double most = std::max(std::fabs(low), std::fabs(high));
    const double error =
        std::max(ulps * ulp(most), absolute) + 0x1p-50 * most;  // 2^-50: the error of the double functions used here
    low -= error;
    high += error;
  } else if (ulps > 0) {
    // Rounding is monotone; stepping to the adjacent double covers the rounding of the bound itself.
    low = to_float(std::nextafter(low, -infinity));
    high = to_float(std::nextafter(high, infinity));
  }
  low = std::min(low, value);
  high = std::max(high, value);
  if (low < float_min && high > -float_min) {  // may be flushed to zero
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
  if (low < -float_max || high > float_max) return unbounded(value);
  return {value, low, high, 0, true, range.decided};
}

Interval interval_of(const BoundedValue& value) { return {value.low, value.high, true}; }

bool is_point(const BoundedValue& value) { return value.low == value.high; }

BoundedValue compared(Op op, const BoundedValue& a, const BoundedValue& b) {
  BoundedValue result;
  result.bits = compare_floats(op, a.value, b.value) ? 1U : 0U;
  if (std::isnan(a.value) || std::isnan(b.value)) return result;
  if (op == Op::eq || op == Op::ne) {
    result.known = a.high < b.low || b.high < a.low || (is_point(a) && is_point(b));
  } else {  // an ordering is monotone, so opposite ends decide it
    result.known = compare_floats(op, a.low, b.high) == compare_floats(op, a.high, b.low);
  }
  return result;
}

BoundedValue converted(const Instruction& inst, DType from, const BoundedValue& a, double ulps) {
  if (inst.type == from) return a;
  if (inst.type == DType::float32) {
    const double value = integer_to_float(a.bits, from);
    return a.known ? enclose(value, {value, value}, ulps) : unbounded(value);
  }
  if (from != DType::float32) return {.bits = integer_to_integer(a.bits, inst.type), .known = a.known};
  if (inst.type == DType::boolean) return compared(Op::ne, a, BoundedValue{});
  const std::uint32_t low = float_to_integer(a.low, inst.type);
  return {.bits = float_to_integer(a.value, inst.type), .known = low == float_to_integer(a.high, inst.type)};
}

BoundedValue cast(const Instruction& inst, DType from, const BoundedValue& a) {
  if (inst.type == from) return a;
  BoundedValue result = a;
  if (from == DType::float32) {
    result.bits = std::bit_cast<std::uint32_t>(static_cast<float>(a.value));
    result.known = a.known && is_point(a) && a.value != 0;  // a zero may have either sign, a NaN any payload
  } else if (inst.type == DType::float32) {
    const double value = static_cast<double>(std::bit_cast<float>(a.bits));
    return a.known ? IntervalDomain::real(value) : unbounded(value);
  }
  return result;
}

BoundedValue selected(DType type, const BoundedValue& condition, const BoundedValue& yes, const BoundedValue& no) {
  BoundedValue result = condition.bits != 0 ? yes : no;
  if (condition.known) return result;
  result.decided = false;
  if (type != DType::float32) {
    result.known = yes.known && no.known && yes.bits == no.bits;
  } else if (yes.known && no.known && std::isfinite(yes.value) && std::isfinite(no.value)) {
    result.low = std::min(yes.low, no.low);
    result.high = std::max(yes.high, no.high);
    result.terms = std::max(yes.terms, no.terms);
  } else {
    return unbounded(result.value);
  }
  return result;
}

double max_magnitude(const BoundedValue& value) { return std::max(std::fabs(value.low), std::fabs(value.high)); }

double terms_of(const BoundedValue& value) { return std::max(value.terms, max_magnitude(value)); }

bool is_sum_or_product(Op op) { return op == Op::add || op == Op::sub || op == Op::mul || op == Op::fma; }

// Sums and products that the implementation may reassociate and contract: each is off by at most a unit in the last
// place of the largest possible partial sum.
BoundedValue reordered(Op op, double value, const Interval& range, const std::array<BoundedValue, 3>& operands) {
  const auto& [a, b, c] = operands;
  const double product = terms_of(a) * terms_of(b);
  const double terms = op == Op::mul ? product : op == Op::fma ? product + terms_of(c) : terms_of(a) + terms_of(b);
  if (op == Op::fma && std::isfinite(product) && product > float_max)
    return unbounded(value);  // the product alone overflows
  BoundedValue result = enclose(value, range, 1, std::isfinite(terms) ? ulp(terms) : 0);
  if (!result.known || !std::isfinite(value)) return result;
  if (terms > float_max) return unbounded(value);
  result.terms = terms;
  return result;
}

BoundedValue computed(const Instruction& inst, const std::array<BoundedValue, 3>& operands, const Accuracy& accuracy) {
  const auto& [a, b, c] = operands;
  const auto of_op = static_cast<std::size_t>(inst.op);
  const double value = float_op(inst.op, a.value, b.value, c.value);
  const double size = max_magnitude(operands[operand_count(inst.op) - 1]);
  const double by_size = accuracy.ulps_by_size[of_op] > 0 ? accuracy.ulps_by_size[of_op] * size : 0;
  const double ulps = accuracy.ulps[of_op] + by_size;
  const auto range = interval_of(inst.op, interval_of(a), interval_of(b), interval_of(c), accuracy.angle_max);
  const bool promised = std::isfinite(ulps) || !std::isfinite(value);
  if (!range || !promised || (inst.op == Op::div && size > accuracy.divisor_max)) return unbounded(value);
  if (accuracy.reorders && is_sum_or_product(inst.op)) return reordered(inst.op, value, *range, operands);
  BoundedValue result = enclose(value, *range, ulps, accuracy.absolute[of_op]);
  if (inst.op == Op::neg) result.terms = a.terms;
  const bool never_negative = inst.op == Op::sqrt || inst.op == Op::rsqrt || inst.op == Op::exp || inst.op == Op::exp2;
  if (never_negative && result.known) result.low = std::max(result.low, 0.0);
  return result;
}

}  // namespace

BoundedValue IntervalDomain::real(double value) { return enclose(value, {value, value, true}, 0); }

BoundedValue IntervalDomain::gathered(const BoundedValue& value, const BoundedValue& index, DType type) {
  BoundedValue result = index.known || type != DType::float32 ? value : unbounded(value.value);
  result.known = result.known && index.known;
  result.decided = result.decided && index.decided;
  return result;
}

BoundedValue IntervalDomain::apply(const Instruction& inst, DType operand,
                                   const std::array<BoundedValue, 3>& operands) const {
  const auto& [a, b, c] = operands;
  const auto used = std::span(operands).first(operand_count(inst.op));
  const bool all_known = std::ranges::all_of(used, &BoundedValue::known);
  BoundedValue result;
  if (inst.op == Op::select) {
    result = selected(inst.type, a, b, c);
  } else if (inst.op == Op::bitcast) {
    result = cast(inst, operand, a);
  } else if (inst.op == Op::convert) {
    result = converted(inst, operand, a, accuracy_->ulps[static_cast<std::size_t>(Op::convert)]);
  } else if (operand != DType::float32) {
    result.bits = integer_op(inst.op, operand, a.bits, b.bits);
  } else if (inst.type == DType::boolean) {
    result = compared(inst.op, a, b);
  } else {
    result = computed(inst, operands, *accuracy_);
  }
  if (!all_known && inst.op != Op::select) {
    if (inst.type == DType::float32) return unbounded(result.value);
    result.known = false;
  }
  result.decided = result.decided && result.known && std::ranges::all_of(used, &BoundedValue::decided);
  return result;
}

std::vector<std::vector<BoundedValue>> interpret_with_bounds(const Function& function, const Bindings& bindings,
                                                             std::size_t count, const Accuracy& accuracy) {
  check_bindings(function, bindings, count);
  Interpreter<IntervalDomain> interpreter(function, bindings, IntervalDomain(accuracy));
  std::vector<std::vector<BoundedValue>> results(function.outputs.size(), std::vector<BoundedValue>(count));
  for (std::size_t element = 0; element < count; ++element) {
    const auto values = interpreter.run(element);
    for (std::size_t i = 0; i < values.size(); ++i) {
      BoundedValue& result = results[i][element];
      result = values[i];
      const DType type = loaded_type(function.outputs[i].element);
      if (type != DType::float32) result.value = result.low = result.high = integer_to_float(result.bits, type);
    }
  }
  return results;
}

namespace {

// The value after storing it as `element`.
double stored_as(DType element, double value) noexcept {
  switch (element) {
    case DType::float32:
      return to_float(value);
    case DType::float16:
      return static_cast<double>(vectis::to_float(to_half(static_cast<float>(value))));
    case DType::bfloat16:
      return static_cast<double>(vectis::to_float(to_bfloat16(static_cast<float>(value))));
    case DType::int8:
      return std::clamp(value, -128.0, 127.0);
    default:
      return value;
  }
}

}  // namespace

bool accepts(const BoundedValue& expected, DType element, double stored) noexcept {
  if (!expected.known) return true;
  if (std::isnan(expected.value)) return std::isnan(stored);
  // Rounding is monotone, so the stored value lies between the stored ends.
  return stored_as(element, expected.low) <= stored && stored <= stored_as(element, expected.high);
}

}  // namespace vectis::inline v0_1::ir
