#include "kernel/ir/scalar_ops.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace vectis::inline v0_1::ir {

double float_op(Op op, double a, double b, double c) noexcept {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::min:
      return std::fmin(a, b);
    case Op::max:
      return std::fmax(a, b);
    case Op::neg:
      return -a;
    case Op::abs:
      return std::fabs(a);
    case Op::rem:
      return std::fmod(a, b);
    case Op::fma:
      return std::fma(a, b, c);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::rsqrt:
      return 1 / std::sqrt(a);
    case Op::exp:
      return std::exp(a);
    case Op::exp2:
      return std::exp2(a);
    case Op::log:
      return std::log(a);
    case Op::log2:
      return std::log2(a);
    case Op::sin:
      return std::sin(a);
    case Op::cos:
      return std::cos(a);
    case Op::tan:
      return std::tan(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::asin:
      return std::asin(a);
    case Op::acos:
      return std::acos(a);
    case Op::atan:
      return std::atan(a);
    case Op::pow:
      return std::pow(a, b);
    case Op::atan2:
      return std::atan2(a, b);
    case Op::floor:
      return std::floor(a);
    case Op::ceil:
      return std::ceil(a);
    case Op::round:
      return std::nearbyint(a);  // ties to even, the default rounding mode of every thread
    case Op::trunc:
      return std::trunc(a);
    case Op::sign:
      return a > 0 ? 1 : a < 0 ? -1 : 0;
    case Op::erf:
      return std::erf(a);
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool compare_floats(Op op, double a, double b) noexcept {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
    default:
      return a != b;
  }
}

namespace {

bool compare_integers(Op op, DType type, std::uint32_t a, std::uint32_t b) noexcept {
  // Both integer types are exact as doubles.
  return compare_floats(op, integer_to_float(a, type), integer_to_float(b, type));
}

std::uint32_t divide(bool remainder, DType type, std::uint32_t a, std::uint32_t b) noexcept {
  if (b == 0) return 0;
  if (type == DType::uint32) return remainder ? a % b : a / b;
  // In 64 bits INT32_MIN / -1 does not overflow; truncation to 32 bits wraps it.
  const std::int64_t wide = static_cast<std::int32_t>(a);
  const std::int64_t by = static_cast<std::int32_t>(b);
  return static_cast<std::uint32_t>(remainder ? wide % by : wide / by);
}

std::uint32_t shift_right(DType type, std::uint32_t a, std::uint32_t by) noexcept {
  return type == DType::uint32 ? a >> by : static_cast<std::uint32_t>(static_cast<std::int32_t>(a) >> by);
}

}  // namespace

std::uint32_t integer_op(Op op, DType type, std::uint32_t a, std::uint32_t b) noexcept {
  const bool is_signed = type == DType::int32;
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return divide(false, type, a, b);
    case Op::rem:
      return divide(true, type, a, b);
    case Op::min:
      return compare_integers(Op::lt, type, a, b) ? a : b;
    case Op::max:
      return compare_integers(Op::gt, type, a, b) ? a : b;
    case Op::neg:
      return 0U - a;
    case Op::abs:
      return is_signed && static_cast<std::int32_t>(a) < 0 ? 0U - a : a;
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::bit_not:
      return type == DType::boolean ? a ^ 1U : ~a;
    case Op::shl:
      return a << (b & 31U);
    case Op::shr:
      return shift_right(type, a, b & 31U);
    case Op::popcount:
      return static_cast<std::uint32_t>(std::popcount(a));
    case Op::leading_zeros:
      return static_cast<std::uint32_t>(std::countl_zero(a));
    case Op::random:
      return random_u32(a, b);
    default:
      return compare_integers(op, type, a, b) ? 1 : 0;
  }
}

std::uint32_t float_to_integer(double value, DType to) noexcept {
  if (to == DType::boolean) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  const double whole = std::trunc(value);
  if (to == DType::uint32) {
    if (whole <= 0) return 0;
    return whole >= 0x1p32 ? ~0U : static_cast<std::uint32_t>(whole);
  }
  if (whole <= -0x1p31) return 1U << 31U;
  return whole >= 0x1p31 ? ~0U >> 1U : static_cast<std::uint32_t>(static_cast<std::int32_t>(whole));
}

double integer_to_float(std::uint32_t bits, DType from) noexcept {
  return from == DType::int32 ? static_cast<double>(static_cast<std::int32_t>(bits)) : static_cast<double>(bits);
}

std::uint32_t integer_to_integer(std::uint32_t bits, DType to) noexcept {
  return to == DType::boolean ? static_cast<std::uint32_t>(bits != 0) : bits;
}

}  // namespace vectis::inline v0_1::ir
