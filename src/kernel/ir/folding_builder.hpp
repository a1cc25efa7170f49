// A builder that folds constants and applies algebraic identities as instructions are added; the passes share it.
#pragma once

#include <array>
#include <cstdint>
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
class FoldingBuilder {
 public:
  // Starts a function with the inputs, tables and arguments of `like`.
  FoldingBuilder(const Function& like, std::string name);

  Builder& builder() noexcept { return builder_; }
  [[nodiscard]] Value input(std::uint32_t number) const { return inputs_[number]; }

  Value constant(DType type, std::uint32_t bits);
  Value real(float value);
  // Adds any operation that is not part of a loop: returns a folded constant, an equal value, or a new instruction.
  Value emit(const Node& node);
  Value float_op(Op op, Value a, Value b = {}, Value c = {}) { return emit({op, DType::float32, {a, b, c}, 0}); }

  // The operation that computes a value; null for inputs, arguments and values of loops.
  [[nodiscard]] const Node* node(Value value) const;
  [[nodiscard]] std::optional<std::uint32_t> constant_of(Value value) const;

 private:
  Value make(const Node& node);

  Builder builder_;
  std::vector<Value> inputs_;
  std::vector<Value> arguments_;
  std::vector<std::optional<Node>> nodes_;
};

// An existing value that equals the operation for every operand, or nothing.
std::optional<Value> identity(FoldingBuilder& folder, const Node& node);

// Constant folding: the bits of an operation on constants, if every device computes the same bits. Nothing for
// operations that are not correctly rounded everywhere (div, sqrt, exp, ...), subnormal values and the zeros of min and
// max, and for results that are infinite or NaN, which not every dialect can write as a literal.
std::optional<std::uint32_t> fold(const Instruction& inst, DType operand, const std::array<std::uint32_t, 3>& bits);

}  // namespace vectis::inline v0_1::ir
