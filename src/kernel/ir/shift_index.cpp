#include "kernel/ir/shift_index.hpp"

#include <algorithm>

namespace vectis::inline v0_1::ir {

namespace {

// Every index of the block becomes the sum of two new instructions before it, under its own number.
void shift_block(Function& function, Block& block) {
  const auto argument = static_cast<std::uint32_t>(function.arguments.size() - 1);
  Block shifted;
  for (const Id id : block) {
    if (function.instructions[id].op == Op::index) {
      const auto first = static_cast<Id>(function.instructions.size());
      function.instructions.push_back({Op::index, DType::uint32, {}, 0});
      function.instructions.push_back({Op::argument, DType::uint32, {}, argument});
      function.instructions[id] = {Op::add, DType::uint32, {first, first + 1, 0}, 0};
      shifted.insert(shifted.end(), {first, first + 1});
    }
    shifted.push_back(id);
  }
  block = std::move(shifted);
}

}  // namespace

bool uses_index(const Function& function) noexcept {
  return std::ranges::any_of(function.instructions, [](const Instruction& one) { return one.op == Op::index; });
}

Function shift_index(const Function& function) {
  Function shifted = function;
  shifted.arguments.push_back(DType::uint32);
  shift_block(shifted, shifted.body);
  for (Loop& loop : shifted.loops) shift_block(shifted, loop.body);
  return shifted;
}

}  // namespace vectis::inline v0_1::ir
