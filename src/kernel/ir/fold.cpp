#include "kernel/ir/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "kernel/ir/ops.hpp"
#include "kernel/ir/scalar.hpp"

namespace vectis::inline v0_1::ir {

namespace {

float real(std::uint32_t bits) { return std::bit_cast<float>(bits); }

bool is_subnormal(float value) { return std::fpclassify(value) == FP_SUBNORMAL; }

std::optional<std::uint32_t> written(float value) {
  if (!std::isfinite(value) || is_subnormal(value)) return std::nullopt;
  return std::bit_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> fold_reals(Op op, float a, float b, float c) {
  switch (op) {
    case Op::add:
      return written(a + b);
    case Op::sub:
      return written(a - b);
    case Op::mul:
      return written(a * b);
    case Op::fma:
      return written(std::fma(a, b, c));
    case Op::min:
    case Op::max:
      if (a == 0 && b == 0) return std::nullopt;
      [[fallthrough]];
    case Op::neg:
    case Op::abs:
    case Op::rem:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::trunc:
    case Op::sign:  // exact, so the same in double
      return written(static_cast<float>(real_op(op, static_cast<double>(a), static_cast<double>(b))));
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> fold_convert(DType from, DType to, std::uint32_t bits) {
  if (from == DType::float32) return real_to_whole(static_cast<double>(real(bits)), to);
  if (to == DType::float32) return std::bit_cast<std::uint32_t>(static_cast<float>(whole_to_real(bits, from)));
  return whole_to_whole(bits, to);
}

}  // namespace

std::optional<std::uint32_t> fold(const Instruction& one, DType operand, const std::array<std::uint32_t, 3>& bits) {
  const auto& [a, b, c] = bits;
  if (one.op == Op::select) return a != 0 ? b : c;
  if (operand == DType::float32) {
    const auto used = std::span(bits).first(operand_count(one.op));
    if (std::ranges::any_of(used, [](std::uint32_t word) { return is_subnormal(real(word)); })) return std::nullopt;
  }
  if (one.op == Op::convert) return fold_convert(operand, one.type, a);
  if (one.op == Op::bitcast) return one.type == DType::float32 ? written(real(a)) : std::optional(a);
  if (operand != DType::float32) return whole_op(one.op, operand, a, b);
  if (one.type == DType::boolean)
    return compare_reals(one.op, static_cast<double>(real(a)), static_cast<double>(real(b))) ? 1U : 0U;
  return fold_reals(one.op, real(a), real(b), real(c));
}

}  // namespace vectis::inline v0_1::ir
