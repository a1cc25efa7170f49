// A builder that folds constants and applies algebraic identities as instructions are added; the passes share it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// One instruction that FoldingBuilder::emit() adds, with its operands as values of that builder. Operands beyond the
// operation's count are ignored.
struct Node {
  Op op = Op::constant;
  DType type = DType::float32;
  std::array<Value, 3> operands{};
  std::uint32_t immediate = 0;
};

// Builds a function and folds constants and algebraic identities as instructions are added. One thread at a time.
class FoldingBuilder {
 public:
  // Starts a function called `name` with the inputs, tables and arguments of `like`. Throws InvalidInput if one of
  // them has a type that Builder rejects, such as a bool argument; a `like` that verifies has none.
  FoldingBuilder(const Function& like, std::string name);

  Builder& builder() noexcept { return builder_; }
  // Returns the value of an input. Requires `number` below the count of inputs; does not check it.
  [[nodiscard]] Value input(std::uint32_t number) const { return inputs_[number]; }

  // Adds a constant with these bits. Requires a value type; every type but f32, i32 and u32 becomes a bool.
  Value constant(DType type, std::uint32_t bits);
  // Adds an f32 constant and returns its value, or the value of an equal constant that exists already.
  Value real(float value);
  // Adds an operation that is not part of a loop, and returns a folded constant, an existing equal value, or a new
  // instruction. A new instruction throws InvalidInput for operand types that the operation does not take, a table
  // that does not exist, and values of another builder or of an ended loop. Indices of inputs and arguments are not
  // checked.
  Value emit(const Node& node);
  // Adds an operation from f32 to f32 with as many operands as it takes. Returns what emit() returns. Requires f32
  // operands of this builder; throws InvalidInput for others when it must add an instruction.
  Value float_op(Op op, Value a, Value b = {}, Value c = {}) { return emit({op, DType::float32, {a, b, c}, 0}); }

  // Returns the operation that computes a value; null for inputs, arguments, the index, values of loops and values
  // that this builder did not add. The pointer is valid until the next value is added.
  [[nodiscard]] const Node* node(Value value) const;
  // Returns the bits of a value that is a constant of this builder, else nothing.
  [[nodiscard]] std::optional<std::uint32_t> constant_of(Value value) const;

 private:
  Value make(const Node& node);

  Builder builder_;
  std::vector<Value> inputs_;
  std::vector<Value> arguments_;
  std::vector<std::optional<Node>> nodes_;
};

// Returns a value that equals the operation `node` for all operands (NaN, infinities and both zeros included) by an
// algebraic identity such as x * 1 = x, or nothing if no identity applies. May add simpler instructions to `folder`.
// Requires operands of `folder`; throws InvalidInput if such an instruction cannot be added.
std::optional<Value> identity(FoldingBuilder& folder, const Node& node);

// Folds an operation on constants: returns its bits if every device computes the same bits. Returns nothing for f32
// operations that are not correctly rounded everywhere (div, sqrt, exp, ...), subnormal f32 values, min and max of
// two zeros, and f32 results that are infinite or NaN. Requires `operand`, the type of the first operand, and an
// operation with operands other than gather and the parts of loops; does not check them.
std::optional<std::uint32_t> fold(const Instruction& inst, DType operand, const std::array<std::uint32_t, 3>& bits);

}  // namespace vectis::inline v0_1::ir
