#include "kernel/ir/folding_builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "kernel/ir/opcodes.hpp"
#include "kernel/ir/scalar_ops.hpp"

namespace vectis::inline v0_1::ir {

namespace {

float real(std::uint32_t bits) { return std::bit_cast<float>(bits); }

bool is_subnormal(float value) { return std::fpclassify(value) == FP_SUBNORMAL; }

std::optional<std::uint32_t> foldable(float value) {
  if (!std::isfinite(value) || is_subnormal(value)) return std::nullopt;
  return std::bit_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> fold_floats(Op op, float a, float b, float c) {
  switch (op) {
    case Op::add:
      return foldable(a + b);
    case Op::sub:
      return foldable(a - b);
    case Op::mul:
      return foldable(a * b);
    case Op::fma:
      return foldable(std::fma(a, b, c));
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
    case Op::sign:  // exact, so computed in double
      return foldable(static_cast<float>(float_op(op, static_cast<double>(a), static_cast<double>(b))));
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> fold_convert(DType from, DType to, std::uint32_t bits) {
  if (from == DType::float32) return float_to_integer(static_cast<double>(real(bits)), to);
  if (to == DType::float32) return std::bit_cast<std::uint32_t>(static_cast<float>(integer_to_float(bits, from)));
  return integer_to_integer(bits, to);
}

}  // namespace

std::optional<std::uint32_t> fold(const Instruction& inst, DType operand, const std::array<std::uint32_t, 3>& bits) {
  const auto& [a, b, c] = bits;
  if (inst.op == Op::select) return a != 0 ? b : c;
  if (operand == DType::float32) {
    const auto used = std::span(bits).first(operand_count(inst.op));
    if (std::ranges::any_of(used, [](std::uint32_t word) { return is_subnormal(real(word)); })) return std::nullopt;
  }
  if (inst.op == Op::convert) return fold_convert(operand, inst.type, a);
  if (inst.op == Op::bitcast) return inst.type == DType::float32 ? foldable(real(a)) : std::optional(a);
  if (operand != DType::float32) return integer_op(inst.op, operand, a, b);
  if (inst.type == DType::boolean)
    return compare_floats(inst.op, static_cast<double>(real(a)), static_cast<double>(real(b))) ? 1U : 0U;
  return fold_floats(inst.op, real(a), real(b), real(c));
}

namespace {

using MaybeValue = std::optional<Value>;

// The algebraic identities of one operation. Each holds for NaN, infinities and both zeros. x + 0 = x is none of them
// (it fails for -0), nor is x * 0 = 0.
class Identities {
 public:
  Identities(FoldingBuilder& folder, const Node& node)
      : folder_(folder), node_(node), a_(node.operands[0]), b_(node.operands[1]), c_(node.operands[2]) {}

  MaybeValue find() {
    switch (node_.op) {
      case Op::select:
        return select_identity();
      case Op::convert:
      case Op::bitcast:
        return cast_identity();
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
        return comparison_identity();
      case Op::min:
      case Op::max:
        return same_operands() ? MaybeValue(a_) : std::nullopt;
      case Op::neg:
      case Op::bit_not:
        return computed_by(a_, node_.op) ? MaybeValue(inner(a_)) : std::nullopt;
      case Op::abs:
        if (a_.type == DType::uint32 || computed_by(a_, Op::abs)) return a_;
        // Holds for i32 too, where -INT32_MIN is INT32_MIN.
        return computed_by(a_, Op::neg) ? MaybeValue(rebuild({inner(a_)})) : std::nullopt;
      case Op::floor:
      case Op::ceil:
      case Op::round:
      case Op::trunc:
        return is_integral(a_) ? MaybeValue(a_) : std::nullopt;
      default:
        return node_.type == DType::float32 ? float_identity() : integer_identity();
    }
  }

 private:
  [[nodiscard]] bool same_operands() const { return a_.id == b_.id; }
  [[nodiscard]] bool is(Value value, std::uint32_t bits) const { return folder_.constant_of(value) == bits; }
  [[nodiscard]] bool is_real(Value value, float constant) const {
    return is(value, std::bit_cast<std::uint32_t>(constant));
  }
  [[nodiscard]] bool computed_by(Value value, Op op) const {
    const Node* made = folder_.node(value);
    return made != nullptr && made->op == op;
  }
  [[nodiscard]] Value inner(Value value) const { return folder_.node(value)->operands[0]; }
  [[nodiscard]] bool is_integral(Value value) const {
    return computed_by(value, Op::floor) || computed_by(value, Op::ceil) || computed_by(value, Op::round) ||
           computed_by(value, Op::trunc) || computed_by(value, Op::sign);
  }
  Value rebuild(const std::array<Value, 3>& operands) {
    return folder_.emit({node_.op, node_.type, operands, node_.immediate});
  }
  Value zero() { return folder_.constant(node_.type, 0); }

  MaybeValue select_identity() {
    if (const auto known = folder_.constant_of(a_)) return *known != 0 ? b_ : c_;
    if (b_.id == c_.id) return b_;
    if (node_.type == DType::boolean && is(b_, 1) && is(c_, 0)) return a_;
    if (computed_by(a_, Op::bit_not)) return rebuild({inner(a_), c_, b_});
    return std::nullopt;
  }

  MaybeValue cast_identity() {
    if (a_.type == node_.type) return a_;
    if (!computed_by(a_, node_.op)) return std::nullopt;
    const Value from = inner(a_);
    // Round trips: bitcast always restores the bits; convert restores a bool, and i32 and u32 from each other.
    const bool wholes = from.type != DType::float32 && a_.type != DType::float32 && a_.type != DType::boolean;
    if (from.type == node_.type && (node_.op == Op::bitcast || wholes || from.type == DType::boolean)) return from;
    return node_.op == Op::bitcast ? MaybeValue(rebuild({from})) : std::nullopt;
  }

  MaybeValue comparison_identity() {
    const bool strict = node_.op == Op::lt || node_.op == Op::gt || node_.op == Op::ne;
    if (same_operands() && (a_.type != DType::float32 || node_.op == Op::lt || node_.op == Op::gt))
      return folder_.constant(DType::boolean, strict ? 0 : 1);
    if (a_.type != DType::boolean) return std::nullopt;
    const std::uint32_t neutral = node_.op == Op::eq ? 1 : 0;
    if (is(b_, neutral)) return a_;
    return is(a_, neutral) ? MaybeValue(b_) : std::nullopt;
  }

  MaybeValue float_identity() {
    switch (node_.op) {
      case Op::add:
        return is_real(b_, -0.0F) ? MaybeValue(a_) : is_real(a_, -0.0F) ? MaybeValue(b_) : std::nullopt;
      case Op::sub:
        return is_real(b_, 0.0F) ? MaybeValue(a_) : std::nullopt;
      case Op::mul:
        return is_real(b_, 1.0F) ? MaybeValue(a_) : is_real(a_, 1.0F) ? MaybeValue(b_) : std::nullopt;
      case Op::div:
        return is_real(b_, 1.0F) ? MaybeValue(a_) : std::nullopt;
      case Op::fma:
        if (is_real(a_, 1.0F)) return folder_.float_op(Op::add, b_, c_);
        if (is_real(b_, 1.0F)) return folder_.float_op(Op::add, a_, c_);
        return is_real(c_, -0.0F) ? MaybeValue(folder_.float_op(Op::mul, a_, b_)) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  MaybeValue integer_identity() {
    const std::uint32_t all = node_.type == DType::boolean ? 1U : ~0U;
    switch (node_.op) {
      case Op::add:
      case Op::bit_or:
        if (node_.op == Op::bit_or && same_operands()) return a_;
        if (node_.op == Op::bit_or && (is(a_, all) || is(b_, all))) return folder_.constant(node_.type, all);
        return is(b_, 0) ? MaybeValue(a_) : is(a_, 0) ? MaybeValue(b_) : std::nullopt;
      case Op::sub:
      case Op::bit_xor:
        if (same_operands()) return zero();
        if (node_.op == Op::bit_xor && is(a_, 0)) return b_;
        return is(b_, 0) ? MaybeValue(a_) : std::nullopt;
      case Op::mul:
        if (is(a_, 0) || is(b_, 0)) return zero();
        return is(b_, 1) ? MaybeValue(a_) : is(a_, 1) ? MaybeValue(b_) : std::nullopt;
      case Op::bit_and:
        if (same_operands()) return a_;
        if (is(a_, 0) || is(b_, 0)) return zero();
        return is(b_, all) ? MaybeValue(a_) : is(a_, all) ? MaybeValue(b_) : std::nullopt;
      case Op::div:
        return is(b_, 1) ? MaybeValue(a_) : std::nullopt;
      case Op::rem:
        return is(b_, 1) ? MaybeValue(zero()) : std::nullopt;
      case Op::shl:
      case Op::shr: {
        const auto by = folder_.constant_of(b_);
        return by && (*by & 31U) == 0 ? MaybeValue(a_) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  FoldingBuilder& folder_;
  Node node_;
  Value a_;
  Value b_;
  Value c_;
};

}  // namespace

std::optional<Value> identity(FoldingBuilder& folder, const Node& node) { return Identities(folder, node).find(); }

FoldingBuilder::FoldingBuilder(const Function& like, std::string name) : builder_(std::move(name)) {
  for (const DType element : like.inputs) inputs_.push_back(builder_.input(element));
  for (const DType element : like.tables) builder_.table(element);
  for (const DType type : like.arguments) arguments_.push_back(builder_.argument(type));
}

Value FoldingBuilder::constant(DType type, std::uint32_t bits) {
  const auto made = [&] {
    switch (type) {
      case DType::float32:
        return builder_.constant(std::bit_cast<float>(bits));
      case DType::int32:
        return builder_.constant(static_cast<std::int32_t>(bits));
      case DType::uint32:
        return builder_.constant(bits);
      default:
        return builder_.constant(bits != 0);
    }
  }();
  if (made.id >= nodes_.size()) nodes_.resize(made.id + 1);
  nodes_[made.id] = {Op::constant, type, {}, bits};
  return made;
}

Value FoldingBuilder::real(float value) { return constant(DType::float32, std::bit_cast<std::uint32_t>(value)); }

Value FoldingBuilder::emit(const Node& node) {
  if (op_class(node.op) != OpClass::leaf) {
    std::array<std::uint32_t, 3> bits{};
    bool constants = node.op != Op::gather;
    for (std::size_t i = 0; i < operand_count(node.op) && constants; ++i) {
      const auto known = constant_of(node.operands[i]);
      constants = known.has_value();
      bits[i] = known.value_or(0);
    }
    if (constants) {
      if (const auto folded = fold({node.op, node.type, {}, 0}, node.operands[0].type, bits))
        return constant(node.type, *folded);
    }
    if (const auto equal = identity(*this, node)) return *equal;
  }
  return make(node);
}

Value FoldingBuilder::make(const Node& node) {
  const auto made = [&] {
    switch (node.op) {
      case Op::constant:
        return constant(node.type, node.immediate);
      case Op::input:
        return inputs_[node.immediate];
      case Op::argument:
        return arguments_[node.immediate];
      case Op::index:
        return builder_.index();
      case Op::convert:
        return builder_.convert(node.operands[0], node.type);
      case Op::bitcast:
        return builder_.bitcast(node.operands[0], node.type);
      case Op::gather:
        return builder_.gather(node.immediate, node.operands[0]);
      default:
        return builder_.apply(node.op, std::span(node.operands).first(operand_count(node.op)));
    }
  }();
  if (made.id >= nodes_.size()) nodes_.resize(made.id + 1);
  if (op_class(node.op) != OpClass::leaf) nodes_[made.id] = node;
  return made;
}

const Node* FoldingBuilder::node(Value value) const {
  if (value.id >= nodes_.size() || !nodes_[value.id]) return nullptr;
  return &*nodes_[value.id];
}

std::optional<std::uint32_t> FoldingBuilder::constant_of(Value value) const {
  const Node* made = node(value);
  return made != nullptr && made->op == Op::constant ? std::optional(made->immediate) : std::nullopt;
}

}  // namespace vectis::inline v0_1::ir
