#include <bit>

#include "kernel/ir/emitter.hpp"

namespace vectis::inline v0_1::ir {

namespace {

using Maybe = std::optional<Value>;

// The identities of one operation. Each holds for NaN, infinities and both zeros; x + 0 does not (-0), x * 0 neither.
class Identities {
 public:
  Identities(Emitter& emitter, const Node& node)
      : emitter_(emitter), node_(node), a_(node.operands[0]), b_(node.operands[1]), c_(node.operands[2]) {}

  Maybe find() {
    switch (node_.op) {
      case Op::select:
        return of_select();
      case Op::convert:
      case Op::bitcast:
        return of_cast();
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:
        return of_comparison();
      case Op::min:
      case Op::max:
        return same() ? Maybe(a_) : std::nullopt;
      case Op::neg:
      case Op::bit_not:
        return made_by(a_, node_.op) ? Maybe(inner(a_)) : std::nullopt;
      case Op::abs:
        if (a_.type == DType::uint32 || made_by(a_, Op::abs)) return a_;
        // -smallest is itself, so this holds for i32 too.
        return made_by(a_, Op::neg) ? Maybe(again({inner(a_)})) : std::nullopt;
      case Op::floor:
      case Op::ceil:
      case Op::round:
      case Op::trunc:
        return is_whole(a_) ? Maybe(a_) : std::nullopt;
      default:
        return node_.type == DType::float32 ? of_reals() : of_wholes();
    }
  }

 private:
  [[nodiscard]] bool same() const { return a_.id == b_.id; }
  [[nodiscard]] bool is(Value value, std::uint32_t bits) const { return emitter_.constant_of(value) == bits; }
  [[nodiscard]] bool is_real(Value value, float constant) const {
    return is(value, std::bit_cast<std::uint32_t>(constant));
  }
  [[nodiscard]] bool made_by(Value value, Op op) const {
    const Node* made = emitter_.node(value);
    return made != nullptr && made->op == op;
  }
  [[nodiscard]] Value inner(Value value) const { return emitter_.node(value)->operands[0]; }
  [[nodiscard]] bool is_whole(Value value) const {
    return made_by(value, Op::floor) || made_by(value, Op::ceil) || made_by(value, Op::round) ||
           made_by(value, Op::trunc) || made_by(value, Op::sign);
  }
  Value again(const std::array<Value, 3>& operands) {
    return emitter_.emit({node_.op, node_.type, operands, node_.immediate});
  }
  Value zero() { return emitter_.constant(node_.type, 0); }

  Maybe of_select() {
    if (const auto known = emitter_.constant_of(a_)) return *known != 0 ? b_ : c_;
    if (b_.id == c_.id) return b_;
    if (node_.type == DType::boolean && is(b_, 1) && is(c_, 0)) return a_;
    if (made_by(a_, Op::bit_not)) return again({inner(a_), c_, b_});
    return std::nullopt;
  }

  Maybe of_cast() {
    if (a_.type == node_.type) return a_;
    if (!made_by(a_, node_.op)) return std::nullopt;
    const Value from = inner(a_);
    // There and back: bits always come back; by value a bool does, and integers among themselves.
    const bool wholes = from.type != DType::float32 && a_.type != DType::float32 && a_.type != DType::boolean;
    if (from.type == node_.type && (node_.op == Op::bitcast || wholes || from.type == DType::boolean)) return from;
    return node_.op == Op::bitcast ? Maybe(again({from})) : std::nullopt;
  }

  Maybe of_comparison() {
    const bool strict = node_.op == Op::lt || node_.op == Op::gt || node_.op == Op::ne;
    if (same() && (a_.type != DType::float32 || node_.op == Op::lt || node_.op == Op::gt))
      return emitter_.constant(DType::boolean, strict ? 0 : 1);
    if (a_.type != DType::boolean) return std::nullopt;
    const std::uint32_t neutral = node_.op == Op::eq ? 1 : 0;
    if (is(b_, neutral)) return a_;
    return is(a_, neutral) ? Maybe(b_) : std::nullopt;
  }

  Maybe of_reals() {
    switch (node_.op) {
      case Op::add:
        return is_real(b_, -0.0F) ? Maybe(a_) : is_real(a_, -0.0F) ? Maybe(b_) : std::nullopt;
      case Op::sub:
        return is_real(b_, 0.0F) ? Maybe(a_) : std::nullopt;
      case Op::mul:
        return is_real(b_, 1.0F) ? Maybe(a_) : is_real(a_, 1.0F) ? Maybe(b_) : std::nullopt;
      case Op::div:
        return is_real(b_, 1.0F) ? Maybe(a_) : std::nullopt;
      case Op::fma:
        if (is_real(a_, 1.0F)) return emitter_.real_op(Op::add, b_, c_);
        if (is_real(b_, 1.0F)) return emitter_.real_op(Op::add, a_, c_);
        return is_real(c_, -0.0F) ? Maybe(emitter_.real_op(Op::mul, a_, b_)) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  Maybe of_wholes() {
    const std::uint32_t all = node_.type == DType::boolean ? 1U : ~0U;
    switch (node_.op) {
      case Op::add:
      case Op::bit_or:
        if (node_.op == Op::bit_or && same()) return a_;
        if (node_.op == Op::bit_or && (is(a_, all) || is(b_, all))) return emitter_.constant(node_.type, all);
        return is(b_, 0) ? Maybe(a_) : is(a_, 0) ? Maybe(b_) : std::nullopt;
      case Op::sub:
      case Op::bit_xor:
        if (same()) return zero();
        if (node_.op == Op::bit_xor && is(a_, 0)) return b_;
        return is(b_, 0) ? Maybe(a_) : std::nullopt;
      case Op::mul:
        if (is(a_, 0) || is(b_, 0)) return zero();
        return is(b_, 1) ? Maybe(a_) : is(a_, 1) ? Maybe(b_) : std::nullopt;
      case Op::bit_and:
        if (same()) return a_;
        if (is(a_, 0) || is(b_, 0)) return zero();
        return is(b_, all) ? Maybe(a_) : is(a_, all) ? Maybe(b_) : std::nullopt;
      case Op::div:
        return is(b_, 1) ? Maybe(a_) : std::nullopt;
      case Op::rem:
        return is(b_, 1) ? Maybe(zero()) : std::nullopt;
      case Op::shl:
      case Op::shr: {
        const auto by = emitter_.constant_of(b_);
        return by && (*by & 31U) == 0 ? Maybe(a_) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  Emitter& emitter_;
  Node node_;
  Value a_;
  Value b_;
  Value c_;
};

}  // namespace

std::optional<Value> identity(Emitter& emitter, const Node& node) { return Identities(emitter, node).find(); }

}  // namespace vectis::inline v0_1::ir
