// Makes a function anew, instruction by instruction, simplifying each as it comes: what passes have in common.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// An instruction with its operands as values.
struct Node {
  Op op = Op::constant;
  DType type = DType::float32;
  std::array<Value, 3> operands{};
  std::uint32_t immediate = 0;
};

// One thread at a time.
class Emitter {
 public:
  // Begins a function with the inputs, tables and arguments of `like`.
  Emitter(const Function& like, std::string name);

  Builder& builder() noexcept { return builder_; }
  [[nodiscard]] Value input(std::uint32_t number) const { return inputs_[number]; }

  Value constant(DType type, std::uint32_t bits);
  Value real(float value);
  // Whatever is no part of a loop; folded, replaced by an equal value, or made.
  Value emit(const Node& node);
  Value real_op(Op op, Value a, Value b = {}, Value c = {}) { return emit({op, DType::float32, {a, b, c}, 0}); }

  // How a value was made; nothing for inputs, arguments and what a loop makes.
  [[nodiscard]] const Node* node(Value value) const;
  [[nodiscard]] std::optional<std::uint32_t> constant_of(Value value) const;

 private:
  Value make(const Node& node);

  Builder builder_;
  std::vector<Value> inputs_;
  std::vector<Value> arguments_;
  std::vector<std::optional<Node>> nodes_;
};

// A value that equals the operation for every operand, or nothing. identities.cpp lists them.
std::optional<Value> identity(Emitter& emitter, const Node& node);

// Only what outputs need: no other instruction, loop or carried value. The interface stays.
Function drop_dead(const Function& function);

}  // namespace vectis::inline v0_1::ir
