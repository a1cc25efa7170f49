// An f32 implementation of the IR for tests of error bounds and passes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernel/ir/error_bounds.hpp"
#include "kernel/ir/interpreter.hpp"
#include "kernel/ir/scalar_ops.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/random.hpp"

namespace vectis::test {

using ir::Accuracy;
using ir::default_accuracy;
using ir::DoubleDomain;
using ir::Instruction;
using ir::integer_to_float;
using ir::loaded_type;
using ir::Op;
using ir::ScalarValue;

// Errs at random within the promised accuracy: each result is off by up to `share` of the promised error, subnormal
// results are sometimes flushed, and a fused multiply-add that may round twice sometimes does. Without a generator,
// rounds correctly and flushes nothing.
class Erring {
 public:
  using Value = ScalarValue;
  explicit Erring(Random* random = nullptr, double share = 1, const Accuracy& accuracy = default_accuracy())
      : random_(random), share_(share), accuracy_(&accuracy) {}
  Value real(double value) { return {flushed(static_cast<float>(value)), 0}; }
  static Value integer(DType, std::uint32_t bits) { return {0, bits}; }
  static Value gathered(const Value& value, const Value&, DType) { return value; }

  Value apply(const Instruction& inst, DType operand, const std::array<Value, 3>& operands) {
    Value exact = DoubleDomain::apply(inst, operand, operands);
    const auto of_op = static_cast<std::size_t>(inst.op);
    const double ulps = accuracy_->ulps[of_op];
    if (inst.type != DType::float32 || ulps == 0 || !std::isfinite(ulps)) return exact;
    if (inst.op == Op::fma && accuracy_->reorders && random_ != nullptr && random_->below(2) == 0)
      exact.real = static_cast<double>(static_cast<float>(operands[0].real * operands[1].real)) + operands[2].real;
    float value = static_cast<float>(exact.real);
    if (random_ != nullptr && ulps > 0.5 && std::isfinite(exact.real) && exact.real != 0) {
      const double size = std::fabs(operands[ir::operand_count(inst.op) - 1].real);
      const double stated = ulps + (accuracy_->ulps_by_size[of_op] > 0 ? accuracy_->ulps_by_size[of_op] * size : 0);
      const double room =
          share_ * std::max(stated * std::ldexp(1.0, std::ilogb(exact.real) - 23), accuracy_->absolute[of_op]);
      const float moved = static_cast<float>(exact.real + room * (random_->unit() * 2 - 1));
      if (std::fabs(static_cast<double>(moved) - exact.real) <= room) value = moved;  // rounding may go too far
    }
    exact.real = flushed(value);
    return exact;
  }

 private:
  double flushed(float value) {
    const bool subnormal = std::fabs(value) < std::numeric_limits<float>::min();
    return subnormal && random_ != nullptr && random_->below(2) == 0 ? 0.0 : static_cast<double>(value);
  }
  Random* random_;
  double share_;
  const Accuracy* accuracy_;
};

// The value after storing it as `element`.
inline double stored(DType element, const ScalarValue& value) {
  switch (element) {
    case DType::float16:
      return to_float(to_half(static_cast<float>(value.real)));
    case DType::bfloat16:
      return to_float(to_bfloat16(static_cast<float>(value.real)));
    case DType::float32:
      return static_cast<float>(value.real);
    case DType::int8:
      return std::clamp(static_cast<std::int32_t>(value.bits), -128, 127);
    default:
      return integer_to_float(value.bits, loaded_type(element));
  }
}

}  // namespace vectis::test
