#include "kernel/ir/accuracy.hpp"

#include <initializer_list>
#include <limits>
#include <numbers>

namespace vectis::inline v0_1::ir {

namespace {

using Table = std::array<double, op_count>;

void set(Table& table, double value, std::initializer_list<Op> ops) {
  for (const Op op : ops) table[static_cast<std::size_t>(op)] = value;
}

Accuracy make_usual() {
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

// The section "Accuracy of Concrete Floating Point Expressions" of the WGSL specification, from top to bottom, and
// "Reassociation and Fusion": Mesa's drivers make x + (a - c) + c to x + a.
//
// Our own helpers (print_helpers.cpp) follow from it. tanh is (e - 1) / (e + 1) of e = exp(2t), t >= 0.25: 3 + 4t ulps
// of e are at most 8 of the result, the quotient adds 2.5 and the sums 1 each. erf subtracts from 1 an exp of at most
// 0.16 with an argument of at most 16: (3 + 32) * 0.16 ulps, twice for the argument's own rounding. atan2 is atan, or
// that subtracted from a constant that is larger. pow is exp2(z) of z = y log2(x), |z| < 150: 3 + 2|z| ulps for exp2, 3
// for log2 and 1 for the product, both times ln 2 |z|, and near x = 1 the 2^-21 of log2 times ln 2 |y|: 3 ulps for each
// unit of y.
Accuracy make_shader() {
  Accuracy accuracy;
  accuracy.reorders = true;
  set(accuracy.ulps, correctly_rounded, {Op::add, Op::sub, Op::mul, Op::fma, Op::convert});
  set(accuracy.ulps, 2.5, {Op::div});
  accuracy.divisor_max = 0x1p126;
  set(accuracy.absolute, 0x1p-11, {Op::sin, Op::cos});  // between -pi and pi
  set(accuracy.ulps, 1, {Op::sin, Op::cos});
  accuracy.angle_max = std::numbers::pi;
  set(accuracy.ulps, std::numeric_limits<double>::infinity(), {Op::tan});  // a quotient of these two
  set(accuracy.ulps, 3, {Op::exp, Op::exp2});
  set(accuracy.ulps_by_size, 2, {Op::exp, Op::exp2});
  set(accuracy.absolute, 0x1p-21, {Op::log, Op::log2});  // between 0.5 and 2
  set(accuracy.ulps, 3, {Op::log, Op::log2});
  set(accuracy.ulps, 2, {Op::rsqrt});
  set(accuracy.ulps, 5, {Op::sqrt});  // 1 / rsqrt
  set(accuracy.ulps, 4096, {Op::atan});
  set(accuracy.ulps, 4100, {Op::atan2, Op::asin, Op::acos});
  set(accuracy.absolute, 0x1p-10, {Op::asin, Op::acos});  // of atan2(x, sqrt(1 - x * x)): near 1 the root has 12 bits
  set(accuracy.ulps, 14, {Op::tanh});
  set(accuracy.ulps, 24, {Op::erf});
  set(accuracy.ulps, 750, {Op::pow});
  set(accuracy.ulps_by_size, 3, {Op::pow});
  return accuracy;
}

}  // namespace

const Accuracy& usual_accuracy() noexcept {
  static const Accuracy accuracy = make_usual();
  return accuracy;
}

const Accuracy& shader_accuracy() noexcept {
  static const Accuracy accuracy = make_shader();
  return accuracy;
}

const Accuracy& accuracy_of(std::optional<Dialect> dialect) noexcept {
  const bool shader = dialect == Dialect::wgsl || dialect == Dialect::glsl_webgpu || dialect == Dialect::glsl_vulkan;
  return shader ? shader_accuracy() : usual_accuracy();
}

}  // namespace vectis::inline v0_1::ir
