// The public functions that are applied element by element.

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "array/element_function.hpp"
#include "array/operands.hpp"
#include "array/wide.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::inline v0_1::array {

namespace {

DType checked_type(const ElementFunction& function, DType type) {
  if (function.takes == Takes::reals) {
    if (type == DType::boolean) {
      throw_invalid(function.name, "takes numbers, not bool; convert by astype(DType::float32)");
    }
    return is_real(type) ? type : DType::float32;
  }
  if (function.takes == Takes::numbers && type == DType::boolean) {
    throw_invalid(function.name, "takes numbers, not bool; convert by astype(DType::int32)");
  }
  if (function.takes == Takes::whole_numbers && type == DType::boolean) {
    throw_invalid(function.name, "takes integers, not bool; convert by astype(DType::int32)");
  }
  if ((function.takes == Takes::integers || function.takes == Takes::whole_numbers) && is_real(type)) {
    throw_invalid(function.name,
                  fmt::format("takes integers or bool, not {}; convert by astype(DType::int32)", vectis::name(type)));
  }
  return type;
}

bool has_truth(ElementOp op) { return op >= ElementOp::equal && op <= ElementOp::signbit; }

Tensor record_element(ElementOp op, std::vector<Tensor> inputs, const std::source_location& where) {
  const ElementFunction& function = element_function(op);
  const DType type = checked_type(function, inputs.front().dtype());
  for (Tensor& input : inputs) input = input.astype(type);
  const Shape shape = inputs.front().shape();
  return record(element_primitive(op), std::move(inputs), has_truth(op) ? DType::boolean : type, shape, where);
}

Tensor unary(ElementOp op, const Operand& x) {
  return record_element(op, {as_tensor(element_function(op).name, x)}, x.where());
}

Tensor binary(ElementOp op, const Operand& a, const Operand& b) {
  Resolved resolved = resolve(element_function(op).name, {&a, &b});
  return record_element(op, std::move(resolved.tensors), resolved.where);
}

// Integers are rounded already.
Tensor rounded(ElementOp op, const Operand& x) {
  const Tensor& tensor = as_tensor(element_function(op).name, x);
  return is_real(tensor.dtype()) || tensor.dtype() == DType::boolean ? unary(op, x) : tensor;
}

Tensor truth(std::string_view op, const Operand& x) {
  return x.tensor() == nullptr ? Tensor() : as_tensor(op, x).astype(DType::boolean);
}

// An operation of bitwise_... on truth values.
Tensor logical(ElementOp op, std::string_view name, const Operand& a, const Operand& b) {
  const Tensor left = truth(name, a);
  const Tensor right = truth(name, b);
  const Operand first = a.tensor() == nullptr ? Operand(a.scalar().real() != 0, a.where()) : Operand(left, a.where());
  const Operand second = b.tensor() == nullptr ? Operand(b.scalar().real() != 0, b.where()) : Operand(right, b.where());
  return binary(op, first, second);
}

}  // namespace

Tensor Tensor::astype(DType type) const {
  if (dtype() == type) return *this;
  check_shape("astype", shape(), type);
  return record(element_primitive(ElementOp::convert), {*this}, type, shape(), node()->where);
}

Tensor add(const Operand& a, const Operand& b) { return binary(ElementOp::add, a, b); }
Tensor subtract(const Operand& a, const Operand& b) { return binary(ElementOp::subtract, a, b); }
Tensor multiply(const Operand& a, const Operand& b) { return binary(ElementOp::multiply, a, b); }
Tensor divide(const Operand& a, const Operand& b) { return binary(ElementOp::divide, a, b); }
Tensor floor_divide(const Operand& a, const Operand& b) { return binary(ElementOp::floor_divide, a, b); }
Tensor remainder(const Operand& a, const Operand& b) { return binary(ElementOp::remainder, a, b); }
Tensor fmod(const Operand& a, const Operand& b) { return binary(ElementOp::fmod, a, b); }
Tensor power(const Operand& a, const Operand& b) { return binary(ElementOp::power, a, b); }
Tensor atan2(const Operand& y, const Operand& x) { return binary(ElementOp::atan2, y, x); }
Tensor minimum(const Operand& a, const Operand& b) { return binary(ElementOp::minimum, a, b); }
Tensor maximum(const Operand& a, const Operand& b) { return binary(ElementOp::maximum, a, b); }

Tensor hypot(const Operand& a, const Operand& b) {
  // Scaled by the larger one, so that squares do not overflow.
  const Resolved operands = resolve("hypot", {&a, &b});
  const auto magnitude = [](const Tensor& x) { return absolute(is_real(x.dtype()) ? x : x.astype(DType::float32)); };
  const Tensor first = magnitude(operands.tensors[0]);
  const Tensor second = magnitude(operands.tensors[1]);
  const Tensor large = maximum(first, second);
  const Tensor scale = where(logical_or(equal(large, 0), isinf(large)), ones_like(large), large);
  const Tensor length = scale * sqrt(square(first / scale) + square(second / scale));
  const Tensor infinite = logical_or(isinf(first), isinf(second));
  return where(infinite, full_like(length, std::numeric_limits<double>::infinity()), length);
}

Tensor logaddexp(const Operand& a, const Operand& b) { return binary(ElementOp::logaddexp, a, b); }

Tensor clip(const Operand& x, const Operand& low, const Operand& high) { return minimum(maximum(x, low), high); }

Tensor negative(const Operand& x) { return unary(ElementOp::negative, x); }
Tensor absolute(const Operand& x) { return unary(ElementOp::absolute, x); }
Tensor sign(const Operand& x) { return unary(ElementOp::sign, x); }
Tensor square(const Operand& x) { return unary(ElementOp::square, x); }
Tensor reciprocal(const Operand& x) { return divide(Operand(1, x.where()), x); }
Tensor floor(const Operand& x) { return rounded(ElementOp::floor, x); }
Tensor ceil(const Operand& x) { return rounded(ElementOp::ceil, x); }
Tensor round(const Operand& x) { return rounded(ElementOp::round, x); }
Tensor trunc(const Operand& x) { return rounded(ElementOp::trunc, x); }
Tensor sqrt(const Operand& x) { return unary(ElementOp::sqrt, x); }
Tensor rsqrt(const Operand& x) { return unary(ElementOp::rsqrt, x); }
Tensor exp(const Operand& x) { return unary(ElementOp::exp, x); }
Tensor exp2(const Operand& x) { return unary(ElementOp::exp2, x); }
Tensor expm1(const Operand& x) { return unary(ElementOp::expm1, x); }
Tensor log(const Operand& x) { return unary(ElementOp::log, x); }
Tensor log2(const Operand& x) { return unary(ElementOp::log2, x); }
Tensor log10(const Operand& x) { return log(x) * std::numbers::log10e; }
Tensor log1p(const Operand& x) { return unary(ElementOp::log1p, x); }
Tensor sin(const Operand& x) { return unary(ElementOp::sin, x); }
Tensor cos(const Operand& x) { return unary(ElementOp::cos, x); }
Tensor tan(const Operand& x) { return unary(ElementOp::tan, x); }
Tensor sinh(const Operand& x) { return unary(ElementOp::sinh, x); }
Tensor cosh(const Operand& x) { return unary(ElementOp::cosh, x); }
Tensor tanh(const Operand& x) { return unary(ElementOp::tanh, x); }
Tensor asin(const Operand& x) { return unary(ElementOp::asin, x); }
Tensor acos(const Operand& x) { return unary(ElementOp::acos, x); }
Tensor atan(const Operand& x) { return unary(ElementOp::atan, x); }
Tensor asinh(const Operand& x) { return unary(ElementOp::asinh, x); }
Tensor acosh(const Operand& x) { return unary(ElementOp::acosh, x); }
Tensor atanh(const Operand& x) { return unary(ElementOp::atanh, x); }
Tensor erf(const Operand& x) { return unary(ElementOp::erf, x); }

Tensor sigmoid(const Operand& x) { return unary(ElementOp::sigmoid, x); }
Tensor relu(const Operand& x) {
  // The gradient at 0 is 0.
  const Tensor& tensor = as_tensor("relu", x);
  return where(logical_not(less_equal(tensor, 0)), tensor, zeros_like(tensor));
}
Tensor leaky_relu(const Operand& x, double slope) {
  const Tensor& tensor = as_tensor("leaky_relu", x);
  return where(greater(tensor, 0), x, tensor * slope);
}
Tensor elu(const Operand& x, double alpha) {
  const Tensor& tensor = as_tensor("elu", x);
  // Positive numbers, whose exponential may overflow, are replaced before it.
  const Tensor is_positive = greater(tensor, 0);
  return where(is_positive, x, expm1(where(is_positive, zeros_like(tensor), tensor)) * alpha);
}
Tensor gelu(const Operand& x) {
  const Tensor& tensor = as_tensor("gelu", x);
  return tensor * 0.5 * (erf(tensor * (std::numbers::sqrt2 / 2)) + 1);
}
Tensor silu(const Operand& x) { return multiply(x, sigmoid(x)); }
Tensor softplus(const Operand& x) { return logaddexp(x, 0.0); }

Tensor equal(const Operand& a, const Operand& b) { return binary(ElementOp::equal, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return binary(ElementOp::not_equal, a, b); }
Tensor less(const Operand& a, const Operand& b) { return binary(ElementOp::less, a, b); }
Tensor less_equal(const Operand& a, const Operand& b) { return binary(ElementOp::less_equal, a, b); }
Tensor greater(const Operand& a, const Operand& b) { return binary(ElementOp::greater, a, b); }
Tensor greater_equal(const Operand& a, const Operand& b) { return binary(ElementOp::greater_equal, a, b); }

Tensor signbit(const Operand& x) {
  return is_real(as_tensor("signbit", x).dtype()) ? unary(ElementOp::signbit, x) : less(x, 0);
}
Tensor isnan(const Operand& x) { return not_equal(x, x); }
Tensor isinf(const Operand& x) {
  const Tensor& tensor = as_tensor("isinf", x);
  if (!is_real(tensor.dtype())) return full_like(tensor.astype(DType::boolean), false);
  return equal(absolute(x), std::numeric_limits<double>::infinity());
}
Tensor isfinite(const Operand& x) {
  const Tensor& tensor = as_tensor("isfinite", x);
  if (!is_real(tensor.dtype())) return full_like(tensor.astype(DType::boolean), true);
  return less(absolute(x), std::numeric_limits<double>::infinity());
}

Tensor bitwise_and(const Operand& a, const Operand& b) { return binary(ElementOp::bitwise_and, a, b); }
Tensor bitwise_or(const Operand& a, const Operand& b) { return binary(ElementOp::bitwise_or, a, b); }
Tensor bitwise_xor(const Operand& a, const Operand& b) { return binary(ElementOp::bitwise_xor, a, b); }
Tensor bitwise_not(const Operand& x) { return unary(ElementOp::bitwise_not, x); }
Tensor left_shift(const Operand& a, const Operand& b) { return binary(ElementOp::left_shift, a, b); }
Tensor right_shift(const Operand& a, const Operand& b) { return binary(ElementOp::right_shift, a, b); }
Tensor logical_and(const Operand& a, const Operand& b) { return logical(ElementOp::bitwise_and, "logical_and", a, b); }
Tensor logical_or(const Operand& a, const Operand& b) { return logical(ElementOp::bitwise_or, "logical_or", a, b); }
Tensor logical_xor(const Operand& a, const Operand& b) { return logical(ElementOp::bitwise_xor, "logical_xor", a, b); }
Tensor logical_not(const Operand& x) { return bitwise_not(as_tensor("logical_not", x).astype(DType::boolean)); }

Tensor where(const Operand& condition, const Operand& yes, const Operand& no) {
  const Tensor& chosen = as_tensor("where", condition);
  if (chosen.dtype() != DType::boolean) {
    throw_invalid("where",
                  fmt::format("the condition is {}, not bool; compare it, or convert by astype(DType::boolean)",
                              vectis::name(chosen.dtype())));
  }
  // The condition takes no part in the common type.
  std::vector<Tensor> values;
  if (yes.tensor() != nullptr || no.tensor() != nullptr) {
    values = resolve("where", {&yes, &no}).tensors;
    check_devices("where", chosen, values[0]);
  } else {
    const DType type = promote(promote(DType::boolean, yes.scalar()), no.scalar());
    for (const Operand* const one : {&yes, &no})
      values.push_back(constant(*chosen.node()->lane, one->scalar(), type, {}));
  }
  const DType type = values[0].dtype();
  const Shape shape = broadcast_shapes("where", chosen.shape(), values[0].shape());
  check_shape("where", shape, type);
  const auto to_shape = [&](const Tensor& one) { return broadcast(one, shape, condition.where()); };
  return record(element_primitive(ElementOp::where), {to_shape(chosen), to_shape(values[0]), to_shape(values[1])}, type,
                shape, condition.where());
}

Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return subtract(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return multiply(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return divide(a, b); }
Tensor operator-(const Operand& x) { return negative(x); }

}  // namespace vectis::inline v0_1::array
