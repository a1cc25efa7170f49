// Finds an instruction that computes what another would, in the block being made or one around it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/ir/ops.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// One thread at a time.
class Numbering {
 public:
  Numbering() { enter(); }
  void enter() { blocks_.emplace_back(); }
  void leave() { blocks_.pop_back(); }

  [[nodiscard]] std::optional<Id> find(const Instruction& instruction) const {
    const Key key = key_of(instruction);
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      const auto found = block->find(key);
      if (found != block->end()) return found->second;
    }
    return std::nullopt;
  }
  void add(const Instruction& instruction, Id id) { blocks_.back().emplace(key_of(instruction), id); }
  void add_outermost(const Instruction& instruction, Id id) { blocks_.front().emplace(key_of(instruction), id); }

 private:
  struct Key {
    Op op;
    DType type;
    std::array<Id, 3> operands;
    std::uint32_t immediate;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      std::uint64_t hash = (static_cast<std::uint64_t>(key.op) << 8U) | static_cast<std::uint64_t>(key.type);
      for (const std::uint32_t word : {key.operands[0], key.operands[1], key.operands[2], key.immediate})
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
      return static_cast<std::size_t>(hash ^ (hash >> 32U));
    }
  };

  // Operands of a commutative operation are sorted. min and max of f32 are not taken for commutative, whatever the type
  // of the result says, because of the zeros; comparisons of any type are.
  static Key key_of(const Instruction& instruction) {
    Key key{instruction.op, instruction.type, instruction.operands, instruction.immediate};
    if (commutative(instruction.op, instruction.type)) std::sort(key.operands.begin(), key.operands.begin() + 2);
    return key;
  }

  std::vector<std::unordered_map<Key, Id, Hash>> blocks_;
};

}  // namespace vectis::inline v0_1::ir
