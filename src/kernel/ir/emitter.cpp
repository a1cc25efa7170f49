#include "kernel/ir/emitter.hpp"

#include <bit>
#include <utility>

#include "kernel/ir/fold.hpp"
#include "kernel/ir/ops.hpp"

namespace vectis::inline v0_1::ir {

Emitter::Emitter(const Function& like, std::string name) : builder_(std::move(name)) {
  for (const DType element : like.inputs) inputs_.push_back(builder_.input(element));
  for (const DType element : like.tables) builder_.table(element);
  for (const DType type : like.arguments) arguments_.push_back(builder_.argument(type));
}

Value Emitter::constant(DType type, std::uint32_t bits) {
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

Value Emitter::real(float value) { return constant(DType::float32, std::bit_cast<std::uint32_t>(value)); }

Value Emitter::emit(const Node& node) {
  if (shape(node.op) != Shape::leaf) {
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
    if (const auto same = identity(*this, node)) return *same;
  }
  return make(node);
}

Value Emitter::make(const Node& node) {
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
  if (shape(node.op) != Shape::leaf) nodes_[made.id] = node;
  return made;
}

const Node* Emitter::node(Value value) const {
  if (value.id >= nodes_.size() || !nodes_[value.id]) return nullptr;
  return &*nodes_[value.id];
}

std::optional<std::uint32_t> Emitter::constant_of(Value value) const {
  const Node* made = node(value);
  return made != nullptr && made->op == Op::constant ? std::optional(made->immediate) : std::nullopt;
}

}  // namespace vectis::inline v0_1::ir
