// Value numbering: finds an earlier instruction that computes the same value, in the current or an enclosing block.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "kernel/ir/opcodes.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Finds the earlier instruction that computes the same value, among those added in the current and enclosing scopes.
// Starts with one scope, the function's body. One thread at a time.
class ValueNumbering {
 public:
  ValueNumbering() { push_scope(); }
  void push_scope() { blocks_.emplace_back(); }
  // Forgets the instructions of the innermost scope. Requires an earlier push_scope(); does not check it.
  void pop_scope() { blocks_.pop_back(); }

  // Returns the id of an equal instruction (operands of commutative operations in any order) in an open scope,
  // innermost first; nothing if there is none.
  [[nodiscard]] std::optional<Id> find(const Instruction& instruction) const {
    const Key key = key_of(instruction);
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      const auto found = block->find(key);
      if (found != block->end()) return found->second;
    }
    return std::nullopt;
  }
  // Adds an instruction to the innermost scope; has no effect if that scope holds an equal one.
  void add(const Instruction& instruction, Id id) { blocks_.back().emplace(key_of(instruction), id); }
  // Adds an instruction to the outermost scope, where all scopes find it; has no effect if that holds an equal one.
  void add_outermost(const Instruction& instruction, Id id) { blocks_.front().emplace(key_of(instruction), id); }

 private:
  struct Key {
    Op op;
    DType type;
    std::array<Id, 3> operands;
    std::uint32_t immediate;
    auto operator<=>(const Key&) const = default;
  };

  // Returns the key under which equal instructions are found: operands of commutative operations (eq and ne included)
  // are sorted. min and max of f32 are not commutative, because of the zeros.
  static Key key_of(const Instruction& instruction) {
    Key key{instruction.op, instruction.type, instruction.operands, instruction.immediate};
    if (is_commutative(instruction.op, instruction.type)) std::sort(key.operands.begin(), key.operands.begin() + 2);
    return key;
  }

  // Ordered: the constants of a hostile text can be chosen to collide in a hash table, which then takes quadratic time.
  std::vector<std::map<Key, Id>> blocks_;
};

}  // namespace vectis::inline v0_1::ir
