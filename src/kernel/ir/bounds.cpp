#include "kernel/ir/bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "kernel/ir/ranges.hpp"
#include "kernel/ir/scalar.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::ir {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double float_max = std::numeric_limits<float>::max();
constexpr double float_min = std::numeric_limits<float>::min();

double ulp(double magnitude) {
  constexpr int fraction = 23;
  constexpr int smallest = -149;
  return std::ldexp(1.0, magnitude == 0 ? smallest : std::max(std::ilogb(magnitude) - fraction, smallest));
}

Bounded anything(double value) { return {value, -infinity, infinity, 0, false, false}; }

double to_float(double value) { return static_cast<double>(static_cast<float>(value)); }

// What an implementation that errs by `ulps`, or `absolute` where that is more, makes of an exact result in `range`,
// and the interpreter's `value`.
Bounded enclose(double value, const Range& range, double ulps, double absolute = 0) {
  double low = range.low;
  double high = range.high;
  if (!std::isfinite(value) || !std::isfinite(low) || !std::isfinite(high)) {
    const bool all_nan = std::isnan(value) && std::isnan(low) && std::isnan(high);
    const bool one_infinity = value == low && low == high;
    return all_nan || one_infinity ? Bounded{value, value, value, 0, true, range.decided} : anything(value);
  }
  if (ulps > correctly_rounded) {
    const double most = std::max(std::fabs(low), std::fabs(high));
    const double error = std::max(ulps * ulp(most), absolute) + 0x1p-50 * most;  // the last: of our own functions
    low -= error;
    high += error;
  } else if (ulps > 0) {
    // Rounding is monotone; a neighbour in double stands for the rounding of our own operation.
    low = to_float(std::nextafter(low, -infinity));
    high = to_float(std::nextafter(high, infinity));
  }
  low = std::min(low, value);
  high = std::max(high, value);
  if (low < float_min && high > -float_min) {  // may be flushed to zero
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
  if (low < -float_max || high > float_max) return anything(value);
  return {value, low, high, 0, true, range.decided};
}

Range range_of(const Bounded& value) { return {value.low, value.high, true}; }

bool is_point(const Bounded& value) { return value.low == value.high; }

Bounded compared(Op op, const Bounded& a, const Bounded& b) {
  Bounded result;
  result.bits = compare_reals(op, a.value, b.value) ? 1U : 0U;
  if (std::isnan(a.value) || std::isnan(b.value)) return result;
  if (op == Op::eq || op == Op::ne) {
    result.known = a.high < b.low || b.high < a.low || (is_point(a) && is_point(b));
  } else {  // most and least true at opposite ends
    result.known = compare_reals(op, a.low, b.high) == compare_reals(op, a.high, b.low);
  }
  return result;
}

Bounded converted(const Instruction& one, DType from, const Bounded& a, double ulps) {
  if (one.type == from) return a;
  if (one.type == DType::float32) {
    const double value = whole_to_real(a.bits, from);
    return a.known ? enclose(value, {value, value}, ulps) : anything(value);
  }
  if (from != DType::float32) return {.bits = whole_to_whole(a.bits, one.type), .known = a.known};
  if (one.type == DType::boolean) return compared(Op::ne, a, Bounded{});
  const std::uint32_t low = real_to_whole(a.low, one.type);
  return {.bits = real_to_whole(a.value, one.type), .known = low == real_to_whole(a.high, one.type)};
}

Bounded cast(const Instruction& one, DType from, const Bounded& a) {
  if (one.type == from) return a;
  Bounded result = a;
  if (from == DType::float32) {
    result.bits = std::bit_cast<std::uint32_t>(static_cast<float>(a.value));
    result.known = a.known && is_point(a) && a.value != 0;  // either zero, any NaN
  } else if (one.type == DType::float32) {
    const double value = static_cast<double>(std::bit_cast<float>(a.bits));
    return a.known ? Enclosing::real(value) : anything(value);
  }
  return result;
}

Bounded selected(DType type, const Bounded& condition, const Bounded& yes, const Bounded& no) {
  Bounded result = condition.bits != 0 ? yes : no;
  if (condition.known) return result;
  result.decided = false;
  if (type != DType::float32) {
    result.known = yes.known && no.known && yes.bits == no.bits;
  } else if (yes.known && no.known && std::isfinite(yes.value) && std::isfinite(no.value)) {
    result.low = std::min(yes.low, no.low);
    result.high = std::max(yes.high, no.high);
    result.terms = std::max(yes.terms, no.terms);
  } else {
    return anything(result.value);
  }
  return result;
}

double most_of(const Bounded& value) { return std::max(std::fabs(value.low), std::fabs(value.high)); }

double terms_of(const Bounded& value) { return std::max(value.terms, most_of(value)); }

bool is_sum_or_product(Op op) { return op == Op::add || op == Op::sub || op == Op::mul || op == Op::fma; }

// Sums and products where the implementation may change their order and fuse them: each is off by a unit of the last
// place of the largest partial sum there can be.
Bounded reordered(Op op, double value, const Range& range, const std::array<Bounded, 3>& operands) {
  const auto& [a, b, c] = operands;
  const double product = terms_of(a) * terms_of(b);
  const double terms = op == Op::mul ? product : op == Op::fma ? product + terms_of(c) : terms_of(a) + terms_of(b);
  if (op == Op::fma && std::isfinite(product) && product > float_max) return anything(value);  // by itself infinite
  Bounded result = enclose(value, range, 1, std::isfinite(terms) ? ulp(terms) : 0);
  if (!result.known || !std::isfinite(value)) return result;
  if (terms > float_max) return anything(value);
  result.terms = terms;
  return result;
}

Bounded computed(const Instruction& one, const std::array<Bounded, 3>& operands, const Accuracy& accuracy) {
  const auto& [a, b, c] = operands;
  const auto of_op = static_cast<std::size_t>(one.op);
  const double value = real_op(one.op, a.value, b.value, c.value);
  const double size = most_of(operands[operand_count(one.op) - 1]);
  const double by_size = accuracy.ulps_by_size[of_op] > 0 ? accuracy.ulps_by_size[of_op] * size : 0;
  const double ulps = accuracy.ulps[of_op] + by_size;
  const auto range = range_of(one.op, range_of(a), range_of(b), range_of(c), accuracy.angle_max);
  const bool promised = std::isfinite(ulps) || !std::isfinite(value);
  if (!range || !promised || (one.op == Op::div && size > accuracy.divisor_max)) return anything(value);
  if (accuracy.reorders && is_sum_or_product(one.op)) return reordered(one.op, value, *range, operands);
  Bounded result = enclose(value, *range, ulps, accuracy.absolute[of_op]);
  if (one.op == Op::neg) result.terms = a.terms;
  const bool never_negative = one.op == Op::sqrt || one.op == Op::rsqrt || one.op == Op::exp || one.op == Op::exp2;
  if (never_negative && result.known) result.low = std::max(result.low, 0.0);
  return result;
}

}  // namespace

Bounded Enclosing::real(double value) { return enclose(value, {value, value, true}, 0); }

Bounded Enclosing::gathered(const Bounded& value, const Bounded& index, DType type) {
  Bounded result = index.known || type != DType::float32 ? value : anything(value.value);
  result.known = result.known && index.known;
  result.decided = result.decided && index.decided;
  return result;
}

Bounded Enclosing::apply(const Instruction& one, DType operand, const std::array<Bounded, 3>& operands) const {
  const auto& [a, b, c] = operands;
  const auto used = std::span(operands).first(operand_count(one.op));
  const bool all_known = std::ranges::all_of(used, &Bounded::known);
  Bounded result;
  if (one.op == Op::select) {
    result = selected(one.type, a, b, c);
  } else if (one.op == Op::bitcast) {
    result = cast(one, operand, a);
  } else if (one.op == Op::convert) {
    result = converted(one, operand, a, accuracy_->ulps[static_cast<std::size_t>(Op::convert)]);
  } else if (operand != DType::float32) {
    result.bits = whole_op(one.op, operand, a.bits, b.bits);
  } else if (one.type == DType::boolean) {
    result = compared(one.op, a, b);
  } else {
    result = computed(one, operands, *accuracy_);
  }
  if (!all_known && one.op != Op::select) {
    if (one.type == DType::float32) return anything(result.value);
    result.known = false;
  }
  result.decided = result.decided && result.known && std::ranges::all_of(used, &Bounded::decided);
  return result;
}

std::vector<std::vector<Bounded>> interpret_with_bounds(const Function& function, const Bindings& bindings,
                                                        std::size_t count, const Accuracy& accuracy) {
  check_bindings(function, bindings, count);
  Machine<Enclosing> machine(function, bindings, Enclosing(accuracy));
  std::vector<std::vector<Bounded>> results(function.outputs.size(), std::vector<Bounded>(count));
  for (std::size_t element = 0; element < count; ++element) {
    const auto values = machine.run(element);
    for (std::size_t i = 0; i < values.size(); ++i) {
      Bounded& result = results[i][element];
      result = values[i];
      const DType type = loaded_type(function.outputs[i].element);
      if (type != DType::float32) result.value = result.low = result.high = whole_to_real(result.bits, type);
    }
  }
  return results;
}

namespace {

// As an output of this element holds it.
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

bool accepts(const Bounded& expected, DType element, double stored) noexcept {
  if (!expected.known) return true;
  if (std::isnan(expected.value)) return std::isnan(stored);
  // Rounding is monotone, so the stored value lies between the stored ends.
  return stored_as(element, expected.low) <= stored && stored <= stored_as(element, expected.high);
}

}  // namespace vectis::inline v0_1::ir
