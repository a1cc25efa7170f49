#include "array/element_function.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "array/element_map.hpp"
#include "array/node.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

using ir::Builder;
using ir::Value;
using Operands = std::span<const Value>;
using Inputs = std::span<const Tensor>;

// --- Loops over blocks of wide values, from a function of one element ----------------------------------------------

template <class In, class Out, class F>
void loop1(const In* const* in, Out* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = F{}(in[0][i]);
}
template <class In, class Out, class F>
void loop2(const In* const* in, Out* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = F{}(in[0][i], in[1][i]);
}

// Integers wrap: the arithmetic is unsigned.
using Unsigned = std::uint64_t;
std::int64_t wrapped(Unsigned value) { return static_cast<std::int64_t>(value); }

constexpr std::int64_t int_min = std::numeric_limits<std::int64_t>::min();

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (a == int_min && b == -1) return a;
  return a / b - static_cast<std::int64_t>(a % b != 0 && (a < 0) != (b < 0));
}
std::int64_t remainder_of(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
std::int64_t power_of(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  Unsigned result = 1;
  for (auto factor = static_cast<Unsigned>(base); exponent != 0; exponent >>= 1, factor *= factor) {
    if ((exponent & 1) != 0) result *= factor;
  }
  return wrapped(result);
}
double remainder_of(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
// As Python: from the exact remainder, so that the two fit together.
double floor_divided(double a, double b) {
  if (b == 0 || !std::isfinite(a)) return b == 0 ? a / b : std::numeric_limits<double>::quiet_NaN();
  const double rest = std::fmod(a, b);
  const double exact = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0);
  const double below = std::floor(exact);
  return exact - below > 0.5 ? below + 1 : below;
}
double nan_or(double a, double b, double otherwise) { return a != a ? a : b != b ? b : otherwise; }
std::int64_t shifted_left(std::int64_t a, std::int64_t by) {
  return by < 0 || by >= 64 ? 0 : wrapped(static_cast<Unsigned>(a) << by);
}
std::int64_t shifted_right(std::int64_t a, std::int64_t by) { return by < 0 || by >= 64 ? (a < 0 ? -1 : 0) : a >> by; }

// --- Kernel IR ------------------------------------------------------------------------------------------------------

Value number(Builder& b, double value, DType like) {
  return like == DType::float32 ? b.constant(static_cast<float>(value)) : b.constant(static_cast<std::int32_t>(value));
}
Value is_nan(Builder& b, Value x) { return b.binary(ir::Op::ne, x, x); }

template <ir::Op op>
Value emit(Builder& b, Operands x) {
  return b.apply(op, x);
}

// min or max that is NaN when an operand is.
template <ir::Op op>
Value emit_extremum(Builder& b, Operands x) {
  const Value plain = b.apply(op, x);
  if (plain.type != DType::float32) return plain;
  return b.select(is_nan(b, x[0]), x[0], b.select(is_nan(b, x[1]), x[1], plain));
}

Value emit_floor_divide(Builder& b, Operands x);

Value emit_remainder(Builder& b, Operands x) {
  const Value zero = number(b, 0, x[0].type);
  const Value rest = b.binary(ir::Op::rem, x[0], x[1]);
  const Value other_sign = b.binary(ir::Op::ne, b.binary(ir::Op::lt, rest, zero), b.binary(ir::Op::lt, x[1], zero));
  const Value is_zero = b.binary(ir::Op::eq, rest, zero);
  const Value moved = b.select(other_sign, b.add(rest, x[1]), rest);
  if (x[0].type != DType::float32) return b.select(is_zero, zero, moved);
  // A zero has the sign of the divisor.
  const Value sign_bit =
      b.binary(ir::Op::bit_and, b.bitcast(x[1], DType::int32), b.constant(std::numeric_limits<std::int32_t>::min()));
  return b.select(is_zero, b.bitcast(sign_bit, DType::float32), moved);
}

Value emit_floor_divide(Builder& b, Operands x) {
  if (x[0].type != DType::float32) {
    const Value zero = number(b, 0, x[0].type);
    const Value quotient = b.div(x[0], x[1]);
    const Value rest = b.binary(ir::Op::rem, x[0], x[1]);
    const Value is_below =
        b.binary(ir::Op::bit_and, b.binary(ir::Op::ne, rest, zero),
                 b.binary(ir::Op::ne, b.binary(ir::Op::lt, x[0], zero), b.binary(ir::Op::lt, x[1], zero)));
    return b.select(is_below, b.sub(quotient, number(b, 1, x[0].type)), quotient);
  }
  const Value zero = b.constant(0.0F);
  const Value infinity = b.constant(std::numeric_limits<float>::infinity());
  const Value rest = b.binary(ir::Op::rem, x[0], x[1]);
  const Value is_below =
      b.binary(ir::Op::bit_and, b.binary(ir::Op::ne, rest, zero),
               b.binary(ir::Op::ne, b.binary(ir::Op::lt, rest, zero), b.binary(ir::Op::lt, x[1], zero)));
  const Value truncated_quotient = b.div(b.sub(x[0], rest), x[1]);
  const Value quotient = b.select(is_below, b.sub(truncated_quotient, b.constant(1.0F)), truncated_quotient);
  const Value below = b.unary(ir::Op::floor, quotient);
  const Value nearest =
      b.select(b.binary(ir::Op::gt, b.sub(quotient, below), b.constant(0.5F)), b.add(below, b.constant(1.0F)), below);
  const Value is_finite = b.binary(ir::Op::lt, b.unary(ir::Op::abs, x[0]), infinity);
  return b.select(b.binary(ir::Op::eq, x[1], zero), b.div(x[0], x[1]),
                  b.select(is_finite, nearest, b.constant(std::numeric_limits<float>::quiet_NaN())));
}

Value emit_power(Builder& b, Operands x) {
  if (x[0].type == DType::float32) return b.apply(ir::Op::pow, x);
  // By squaring, one bit of the exponent after the other.
  const Value one = b.constant(std::int32_t{1});
  const Value zero = b.constant(std::int32_t{0});
  const auto loop = b.begin_loop(b.constant(std::uint32_t{31}), std::array{one, x[0], x[1]});
  const Value is_set = b.binary(ir::Op::ne, b.binary(ir::Op::bit_and, loop.carried[2], one), zero);
  const Value result = b.select(is_set, b.mul(loop.carried[0], loop.carried[1]), loop.carried[0]);
  const std::vector<Value> ends = b.end_loop(
      loop, std::array{result, b.mul(loop.carried[1], loop.carried[1]), b.binary(ir::Op::shr, loop.carried[2], one)});
  const Value is_odd = b.binary(ir::Op::ne, b.binary(ir::Op::bit_and, x[1], one), zero);
  const Value minus_one = b.constant(std::int32_t{-1});
  const Value of_negative =
      b.select(b.binary(ir::Op::eq, x[0], one), one,
               b.select(b.binary(ir::Op::eq, x[0], minus_one), b.select(is_odd, minus_one, one), zero));
  return b.select(b.binary(ir::Op::lt, x[1], zero), of_negative, ends[0]);
}

Value emit_sign(Builder& b, Operands x) {
  if (x[0].type == DType::float32) return b.select(is_nan(b, x[0]), x[0], b.unary(ir::Op::sign, x[0]));
  const Value zero = number(b, 0, x[0].type);
  const Value one = number(b, 1, x[0].type);
  return b.sub(b.select(b.binary(ir::Op::gt, x[0], zero), one, zero),
               b.select(b.binary(ir::Op::lt, x[0], zero), one, zero));
}

Value emit_sign_bit(Builder& b, Operands x) {
  return b.binary(ir::Op::lt, b.bitcast(x[0], DType::int32), b.constant(std::int32_t{0}));
}

Value emit_square(Builder& b, Operands x) { return b.mul(x[0], x[0]); }

// exp(x) - 1 without cancellation: (u - 1) * x / log(u), whose errors cancel (Kahan).
Value emit_expm1(Builder& b, Operands x) {
  const Value one = b.constant(1.0F);
  const Value u = b.unary(ir::Op::exp, x[0]);
  const Value less = b.sub(u, one);
  const Value corrected = b.div(b.mul(less, x[0]), b.unary(ir::Op::log, u));
  const Value is_small = b.binary(ir::Op::lt, b.unary(ir::Op::abs, x[0]), b.constant(0.7F));
  const Value in_range = b.select(b.binary(ir::Op::eq, u, one), x[0], corrected);
  return b.select(is_small, in_range, less);
}

// log(1 + x) without cancellation: log(u) * x / (u - 1).
Value emit_log1p(Builder& b, Operands x) {
  const Value one = b.constant(1.0F);
  const Value u = b.add(one, x[0]);
  const Value logarithm = b.unary(ir::Op::log, u);
  const Value corrected = b.div(b.mul(logarithm, x[0]), b.sub(u, one));
  const Value is_small = b.binary(ir::Op::lt, b.unary(ir::Op::abs, x[0]), one);
  return b.select(b.binary(ir::Op::eq, u, one), x[0], b.select(is_small, corrected, logarithm));
}

// With e = expm1(|x|): sinh is (e + e / (e + 1)) / 2. Beyond 80, where e may overflow, exp(|x|) / 2 from exp(|x| / 2).
constexpr float large_exponent = 80;
Value exponential_half(Builder& b, Value magnitude) {
  const Value half = b.constant(0.5F);
  const Value root = b.unary(ir::Op::exp, b.mul(half, magnitude));
  return b.mul(b.mul(half, root), root);
}
Value emit_sinh(Builder& b, Operands x) {
  const Value magnitude = b.unary(ir::Op::abs, x[0]);
  const Value e = emit_expm1(b, std::array{magnitude});
  const Value one = b.constant(1.0F);
  const Value near = b.mul(b.constant(0.5F), b.add(e, b.div(e, b.add(e, one))));
  const Value is_large = b.binary(ir::Op::gt, magnitude, b.constant(large_exponent));
  const Value result = b.select(is_large, exponential_half(b, magnitude), near);
  const Value is_negative = b.binary(ir::Op::lt, x[0], b.constant(0.0F));
  // Zero keeps its sign.
  const Value is_zero = b.binary(ir::Op::eq, x[0], b.constant(0.0F));
  return b.select(is_zero, x[0], b.select(is_negative, b.unary(ir::Op::neg, result), result));
}
Value emit_cosh(Builder& b, Operands x) {
  const Value magnitude = b.unary(ir::Op::abs, x[0]);
  const Value e = b.unary(ir::Op::exp, magnitude);
  const Value near = b.mul(b.constant(0.5F), b.add(e, b.div(b.constant(1.0F), e)));
  return b.select(b.binary(ir::Op::gt, magnitude, b.constant(large_exponent)), exponential_half(b, magnitude), near);
}
// sign(x) * log1p(|x| + x^2 / (1 + sqrt(1 + x^2))); beyond 2^40, where x^2 may overflow, log |x| + log 2.
constexpr float large_operand = 0x1p40F;
Value emit_asinh(Builder& b, Operands x) {
  const Value one = b.constant(1.0F);
  const Value magnitude = b.unary(ir::Op::abs, x[0]);
  const Value squared = b.mul(magnitude, magnitude);
  const Value root = b.unary(ir::Op::sqrt, b.add(one, squared));
  const Value near = emit_log1p(b, std::array{b.add(magnitude, b.div(squared, b.add(one, root)))});
  const Value far = b.add(b.unary(ir::Op::log, magnitude), b.constant(std::numbers::ln2_v<float>));
  const Value result = b.select(b.binary(ir::Op::gt, magnitude, b.constant(large_operand)), far, near);
  const Value zero = b.constant(0.0F);
  return b.select(b.binary(ir::Op::eq, x[0], zero), x[0],
                  b.select(b.binary(ir::Op::lt, x[0], zero), b.unary(ir::Op::neg, result), result));
}
// With t = x - 1: log1p(t + sqrt(2 t + t^2)).
Value emit_acosh(Builder& b, Operands x) {
  const Value t = b.sub(x[0], b.constant(1.0F));
  const Value root = b.unary(ir::Op::sqrt, b.add(b.mul(b.constant(2.0F), t), b.mul(t, t)));
  const Value near = emit_log1p(b, std::array{b.add(t, root)});
  const Value far = b.add(b.unary(ir::Op::log, x[0]), b.constant(std::numbers::ln2_v<float>));
  const Value result = b.select(b.binary(ir::Op::gt, x[0], b.constant(large_operand)), far, near);
  const Value is_defined = b.binary(ir::Op::ge, x[0], b.constant(1.0F));
  return b.select(is_defined, result, b.constant(std::numeric_limits<float>::quiet_NaN()));
}
// log1p(2 x / (1 - x)) / 2 of |x|, with the sign of x.
Value emit_atanh(Builder& b, Operands x) {
  const Value one = b.constant(1.0F);
  const Value zero = b.constant(0.0F);
  const Value magnitude = b.unary(ir::Op::abs, x[0]);
  const Value ratio = b.div(b.mul(b.constant(2.0F), magnitude), b.sub(one, magnitude));
  const Value half = b.mul(b.constant(0.5F), emit_log1p(b, std::array{ratio}));
  const Value at_one =
      b.select(b.binary(ir::Op::eq, magnitude, one), b.constant(std::numeric_limits<float>::infinity()), half);
  return b.select(b.binary(ir::Op::eq, x[0], zero), x[0],
                  b.select(b.binary(ir::Op::lt, x[0], zero), b.unary(ir::Op::neg, at_one), at_one));
}
// The larger operand and log1p(exp(-distance)): two equal infinities have no distance.
Value emit_logaddexp(Builder& b, Operands x) {
  const Value larger = emit_extremum<ir::Op::max>(b, x);
  const Value distance =
      b.select(b.binary(ir::Op::eq, x[0], x[1]), b.constant(0.0F), b.unary(ir::Op::abs, b.sub(x[0], x[1])));
  const Value share = b.unary(ir::Op::exp, b.unary(ir::Op::neg, distance));
  return b.add(larger, emit_log1p(b, std::array{share}));
}
Value emit_sigmoid(Builder& b, Operands x) {
  const Value one = b.constant(1.0F);
  return b.div(one, b.add(one, b.unary(ir::Op::exp, b.unary(ir::Op::neg, x[0]))));
}
// Shifts by the width of the type and more leave nothing but the sign.
template <ir::Op op>
Value emit_shift(Builder& b, Operands x) {
  const Value width = b.constant(std::int32_t{32});
  const Value zero = b.constant(std::int32_t{0});
  const Value fits = b.binary(ir::Op::bit_and, b.binary(ir::Op::ge, x[1], zero), b.binary(ir::Op::lt, x[1], width));
  const Value rest = op == ir::Op::shl ? zero : b.binary(ir::Op::shr, x[0], b.constant(std::int32_t{31}));
  return b.select(fits, b.apply(op, x), rest);
}

// --- Rows -----------------------------------------------------------------------------------------------------------

// A function that only floating-point numbers have.
template <class Real>
constexpr ElementFunction real1(ElementOp op, std::string_view name, ElementFunction::Emit emit, Real /*real*/,
                                ElementFunction::Gradient gradient) {
  return {op, name, 1, Takes::reals, emit, loop1<double, double, Real>, nullptr, nullptr, gradient};
}
template <class Real>
constexpr ElementFunction real2(ElementOp op, std::string_view name, ElementFunction::Emit emit, Real /*real*/,
                                ElementFunction::Gradient gradient) {
  return {op, name, 2, Takes::reals, emit, loop2<double, double, Real>, nullptr, nullptr, gradient};
}
template <class Real, class Integer>
constexpr ElementFunction number1(ElementOp op, std::string_view name, ElementFunction::Emit emit, Real /*real*/,
                                  Integer /*integer*/, ElementFunction::Gradient gradient) {
  return {op,      name,
          1,       Takes::numbers,
          emit,    loop1<double, double, Real>,
          nullptr, loop1<std::int64_t, std::int64_t, Integer>,
          gradient};
}
template <class Real, class Integer>
constexpr ElementFunction number2(ElementOp op, std::string_view name, ElementFunction::Emit emit, Real /*real*/,
                                  Integer /*integer*/, ElementFunction::Gradient gradient) {
  return {op,      name,
          2,       Takes::numbers,
          emit,    loop2<double, double, Real>,
          nullptr, loop2<std::int64_t, std::int64_t, Integer>,
          gradient};
}
template <class Test>
constexpr ElementFunction comparison(ElementOp op, std::string_view name, ElementFunction::Emit emit, Takes takes,
                                     Test /*test*/) {
  return {
      op,     name, 2, takes, emit, nullptr, loop2<double, std::int64_t, Test>, loop2<std::int64_t, std::int64_t, Test>,
      nullptr};
}
template <class Integer>
constexpr ElementFunction bits1(ElementOp op, std::string_view name, ElementFunction::Emit emit, Integer /*integer*/) {
  return {op, name, 1, Takes::integers, emit, nullptr, nullptr, loop1<std::int64_t, std::int64_t, Integer>, nullptr};
}
template <class Integer>
constexpr ElementFunction bits2(ElementOp op, std::string_view name, ElementFunction::Emit emit, Integer /*integer*/,
                                Takes takes = Takes::integers) {
  return {op, name, 2, takes, emit, nullptr, nullptr, loop2<std::int64_t, std::int64_t, Integer>, nullptr};
}

using G = std::vector<Tensor>;
using I = std::int64_t;
using O = ElementOp;

Tensor zero_like(const Tensor& x) { return full_like(x, 0); }
// Of minimum and maximum: the operand that is the result gets the adjoint, two equal ones half of it each.
G extremum_gradient(const Tensor& first_wins, Inputs x, const Tensor& g) {
  const Tensor zero = zero_like(g);
  const Tensor both = equal(x[0], x[1]);
  const Tensor half = g * 0.5;
  return {where(both, half, where(first_wins, g, zero)), where(both, half, where(first_wins, zero, g))};
}
double logaddexp_of(double a, double b) {
  return a == b ? a + std::numbers::ln2 : nan_or(a, b, std::max(a, b)) + std::log1p(std::exp(-std::fabs(a - b)));
}

const std::array<ElementFunction, element_op_count> table = {{
    number2(
        O::add, "add", emit<ir::Op::add>, [](double a, double b) { return a + b; },
        [](I a, I b) { return wrapped(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)); },
        [](const Tensor&, Inputs, const Tensor& g) -> G { return {g, g}; }),
    number2(
        O::subtract, "subtract", emit<ir::Op::sub>, [](double a, double b) { return a - b; },
        [](I a, I b) { return wrapped(static_cast<Unsigned>(a) - static_cast<Unsigned>(b)); },
        [](const Tensor&, Inputs, const Tensor& g) -> G { return {g, -g}; }),
    number2(
        O::multiply, "multiply", emit<ir::Op::mul>, [](double a, double b) { return a * b; },
        [](I a, I b) { return wrapped(static_cast<Unsigned>(a) * static_cast<Unsigned>(b)); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * x[1], g * x[0]}; }),
    real2(
        O::divide, "divide", emit<ir::Op::div>, [](double a, double b) { return a / b; },
        [](const Tensor& y, Inputs x, const Tensor& g) -> G { return {g / x[1], -(g * y) / x[1]}; }),
    number2(
        O::floor_divide, "floor_divide", emit_floor_divide, [](double a, double b) { return floor_divided(a, b); },
        [](I a, I b) { return floor_divided(a, b); }, nullptr),
    number2(
        O::remainder, "remainder", emit_remainder, [](double a, double b) { return remainder_of(a, b); },
        [](I a, I b) { return remainder_of(a, b); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g, -(g * floor_divide(x[0], x[1]))}; }),
    number2(
        O::fmod, "fmod", emit<ir::Op::rem>, [](double a, double b) { return std::fmod(a, b); },
        [](I a, I b) { return b == 0 || b == -1 ? 0 : a % b; },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g, -(g * trunc(x[0] / x[1]))}; }),
    number2(
        O::power, "power", emit_power, [](double a, double b) { return std::pow(a, b); },
        [](I a, I b) { return power_of(a, b); },
        [](const Tensor& y, Inputs x, const Tensor& g) -> G {
          // x ** 0 is 1 everywhere, and 0 ** y does not change with y.
          const Tensor is_constant = equal(x[1], 0);
          const Tensor base = where(is_constant, ones_like(x[0]), x[0]);  // has a finite power, also in derivatives
          const Tensor of_base = where(is_constant, zero_like(g), g * x[1] * power(base, x[1] - 1));
          const Tensor is_zero = equal(x[0], 0);
          const Tensor of_exponent = where(is_zero, zero_like(g), g * y * log(where(is_zero, ones_like(x[0]), x[0])));
          return {of_base, of_exponent};
        }),
    real2(
        O::atan2, "atan2", emit<ir::Op::atan2>, [](double a, double b) { return std::atan2(a, b); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G {
          const Tensor length = hypot(x[0], x[1]);  // its square may overflow
          return {g * (x[1] / length) / length, -(g * (x[0] / length) / length)};
        }),
    real2(
        O::logaddexp, "logaddexp", emit_logaddexp, [](double a, double b) { return logaddexp_of(a, b); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G {
          return {g * sigmoid(x[0] - x[1]), g * sigmoid(x[1] - x[0])};
        }),
    number2(
        O::minimum, "minimum", emit_extremum<ir::Op::min>,
        [](double a, double b) { return nan_or(a, b, a < b ? a : b); }, [](I a, I b) { return a < b ? a : b; },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return extremum_gradient(less(x[0], x[1]), x, g); }),
    number2(
        O::maximum, "maximum", emit_extremum<ir::Op::max>,
        [](double a, double b) { return nan_or(a, b, a > b ? a : b); }, [](I a, I b) { return a > b ? a : b; },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return extremum_gradient(greater(x[0], x[1]), x, g); }),
    number1(
        O::negative, "negative", emit<ir::Op::neg>, [](double a) { return -a; },
        [](I a) { return wrapped(Unsigned{0} - static_cast<Unsigned>(a)); },
        [](const Tensor&, Inputs, const Tensor& g) -> G { return {-g}; }),
    number1(
        O::absolute, "absolute", emit<ir::Op::abs>, [](double a) { return std::fabs(a); },
        [](I a) { return a < 0 ? wrapped(Unsigned{0} - static_cast<Unsigned>(a)) : a; },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * sign(x[0])}; }),
    number1(
        O::sign, "sign", emit_sign, [](double a) { return a > 0    ? 1.0
                                                          : a < 0  ? -1.0
                                                          : a == 0 ? 0.0
                                                                   : a; },
        [](I a) { return static_cast<I>(a > 0) - static_cast<I>(a < 0); }, nullptr),
    number1(
        O::square, "square", emit_square, [](double a) { return a * a; },
        [](I a) { return wrapped(static_cast<Unsigned>(a) * static_cast<Unsigned>(a)); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * x[0] * 2}; }),
    real1(
        O::floor, "floor", emit<ir::Op::floor>, [](double a) { return std::floor(a); }, nullptr),
    real1(
        O::ceil, "ceil", emit<ir::Op::ceil>, [](double a) { return std::ceil(a); }, nullptr),
    real1(
        O::round, "round", emit<ir::Op::round>, [](double a) { return std::nearbyint(a); }, nullptr),
    real1(
        O::trunc, "trunc", emit<ir::Op::trunc>, [](double a) { return std::trunc(a); }, nullptr),
    real1(
        O::sqrt, "sqrt", emit<ir::Op::sqrt>, [](double a) { return std::sqrt(a); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * 0.5 / y}; }),
    real1(
        O::rsqrt, "rsqrt", emit<ir::Op::rsqrt>, [](double a) { return 1 / std::sqrt(a); },
        [](const Tensor& y, Inputs x, const Tensor& g) -> G { return {g * -0.5 * y / x[0]}; }),
    real1(
        O::exp, "exp", emit<ir::Op::exp>, [](double a) { return std::exp(a); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * y}; }),
    real1(
        O::exp2, "exp2", emit<ir::Op::exp2>, [](double a) { return std::exp2(a); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * y * std::numbers::ln2}; }),
    real1(
        O::expm1, "expm1", emit_expm1, [](double a) { return std::expm1(a); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * (y + 1)}; }),
    real1(
        O::log, "log", emit<ir::Op::log>, [](double a) { return std::log(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g / x[0]}; }),
    real1(
        O::log2, "log2", emit<ir::Op::log2>, [](double a) { return std::log2(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g / x[0] * std::numbers::log2e}; }),
    real1(
        O::log1p, "log1p", emit_log1p, [](double a) { return std::log1p(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g / (x[0] + 1)}; }),
    real1(
        O::sin, "sin", emit<ir::Op::sin>, [](double a) { return std::sin(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * cos(x[0])}; }),
    real1(
        O::cos, "cos", emit<ir::Op::cos>, [](double a) { return std::cos(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {-(g * sin(x[0]))}; }),
    real1(
        O::tan, "tan", emit<ir::Op::tan>, [](double a) { return std::tan(a); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * (square(y) + 1)}; }),
    real1(
        O::sinh, "sinh", emit_sinh, [](double a) { return std::sinh(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * cosh(x[0])}; }),
    real1(
        O::cosh, "cosh", emit_cosh, [](double a) { return std::cosh(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * sinh(x[0])}; }),
    real1(
        O::tanh, "tanh", emit<ir::Op::tanh>, [](double a) { return std::tanh(a); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * (1 - square(y))}; }),
    real1(
        O::asin, "asin", emit<ir::Op::asin>, [](double a) { return std::asin(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * rsqrt(1 - square(x[0]))}; }),
    real1(
        O::acos, "acos", emit<ir::Op::acos>, [](double a) { return std::acos(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {-(g * rsqrt(1 - square(x[0])))}; }),
    real1(
        O::atan, "atan", emit<ir::Op::atan>, [](double a) { return std::atan(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g / (square(x[0]) + 1)}; }),
    real1(
        O::asinh, "asinh", emit_asinh, [](double a) { return std::asinh(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * rsqrt(square(x[0]) + 1)}; }),
    real1(
        O::acosh, "acosh", emit_acosh, [](double a) { return std::acosh(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g * rsqrt(square(x[0]) - 1)}; }),
    real1(
        O::atanh, "atanh", emit_atanh, [](double a) { return std::atanh(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g / (1 - square(x[0]))}; }),
    real1(
        O::erf, "erf", emit<ir::Op::erf>, [](double a) { return std::erf(a); },
        [](const Tensor&, Inputs x, const Tensor& g) -> G {
          return {g * exp(-square(x[0])) * (2 * std::numbers::inv_sqrtpi)};
        }),
    real1(
        O::sigmoid, "sigmoid", emit_sigmoid, [](double a) { return 1 / (1 + std::exp(-a)); },
        [](const Tensor& y, Inputs, const Tensor& g) -> G { return {g * y * (1 - y)}; }),
    comparison(O::equal, "equal", emit<ir::Op::eq>, Takes::all, [](auto a, auto b) { return I{a == b}; }),
    comparison(O::not_equal, "not_equal", emit<ir::Op::ne>, Takes::all, [](auto a, auto b) { return I{a != b}; }),
    comparison(O::less, "less", emit<ir::Op::lt>, Takes::numbers, [](auto a, auto b) { return I{a < b}; }),
    comparison(O::less_equal, "less_equal", emit<ir::Op::le>, Takes::numbers, [](auto a, auto b) { return I{a <= b}; }),
    comparison(O::greater, "greater", emit<ir::Op::gt>, Takes::numbers, [](auto a, auto b) { return I{a > b}; }),
    comparison(O::greater_equal, "greater_equal", emit<ir::Op::ge>, Takes::numbers,
               [](auto a, auto b) { return I{a >= b}; }),
    {O::signbit, "signbit", 1, Takes::reals, emit_sign_bit, nullptr,
     loop1<double, I, decltype([](double a) { return I{std::signbit(a)}; })>, nullptr, nullptr},
    bits2(O::bitwise_and, "bitwise_and", emit<ir::Op::bit_and>, [](I a, I b) { return a & b; }),
    bits2(O::bitwise_or, "bitwise_or", emit<ir::Op::bit_or>, [](I a, I b) { return a | b; }),
    bits2(O::bitwise_xor, "bitwise_xor", emit<ir::Op::bit_xor>, [](I a, I b) { return a ^ b; }),
    bits1(O::bitwise_not, "bitwise_not", emit<ir::Op::bit_not>, [](I a) { return ~a; }),
    bits2(
        O::left_shift, "left_shift", emit_shift<ir::Op::shl>, [](I a, I b) { return shifted_left(a, b); },
        Takes::whole_numbers),
    bits2(
        O::right_shift, "right_shift", emit_shift<ir::Op::shr>, [](I a, I b) { return shifted_right(a, b); },
        Takes::whole_numbers),
    {O::where, "where", 3, Takes::all, emit<ir::Op::select>, nullptr, nullptr, nullptr,
     [](const Tensor&, Inputs x, const Tensor& g) -> G {
       return {Tensor(), where(x[0], g, zero_like(g)), where(x[0], zero_like(g), g)};
     }},
    {O::convert, "astype", 1, Takes::all, nullptr, nullptr, nullptr, nullptr,
     [](const Tensor&, Inputs x, const Tensor& g) -> G { return {g.astype(x[0].dtype())}; }},
}};

// Applies a function of the table to each element.
class ElementPrimitive final : public Primitive {
 public:
  explicit ElementPrimitive(const ElementFunction& function) : function_(function) {}
  [[nodiscard]] std::string_view name() const noexcept override { return function_.name; }
  [[nodiscard]] const ElementFunction* element_function() const noexcept override { return &function_; }
  void compute(Node& node) const override {
    Node* const member = &node;
    const std::shared_ptr<Node> output = node.shared_from_this();
    compute_map({&member, 1}, {&output, 1});
  }
  [[nodiscard]] std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> inputs,
                                             const Tensor& adjoint) const override {
    if (function_.gradient == nullptr) return std::vector<Tensor>(inputs.size());
    return function_.gradient(output, inputs, adjoint);
  }

 private:
  const ElementFunction& function_;
};

}  // namespace

const ElementFunction& element_function(ElementOp op) noexcept { return table[static_cast<std::size_t>(op)]; }

std::shared_ptr<const Primitive> element_primitive(ElementOp op) {
  static const auto primitives = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<ElementPrimitive, element_op_count>{ElementPrimitive(table[i])...};
  }(std::make_index_sequence<element_op_count>{});
  return unowned(primitives[static_cast<std::size_t>(op)]);
}

}  // namespace vectis::inline v0_1::array
