#include "kernel/ir/passes.hpp"

#include <algorithm>
#include <utility>

#include "kernel/ir/opcodes.hpp"

namespace vectis::inline v0_1::ir {

namespace {

class DeadCode {
 public:
  explicit DeadCode(const Function& function)
      : old_(function), live_(function.instructions.size(), false), new_id_(function.instructions.size()) {
    for (const Loop& loop : function.loops) slot_live_.emplace_back(loop.initial.size(), false);
  }

  Function run() {
    for (const Output& output : old_.outputs) mark(output.value);
    while (!work_.empty()) {
      const Id id = work_.back();
      work_.pop_back();
      follow(id);
    }
    for (const std::vector<bool>& live : slot_live_) {
      std::vector<std::uint32_t>& slots = new_slot_.emplace_back();
      std::uint32_t before = 0;
      for (const bool one : live) slots.push_back(one ? before++ : before);
    }
    new_.name = old_.name;
    new_.inputs = old_.inputs;
    new_.tables = old_.tables;
    new_.arguments = old_.arguments;
    copy(old_.body, &new_.body);
    for (const Output& output : old_.outputs) new_.outputs.push_back({new_id_[output.value], output.element});
    return std::move(new_);
  }

 private:
  void mark(Id id) {
    if (live_[id]) return;
    live_[id] = true;
    work_.push_back(id);
  }

  void follow(Id id) {
    const Instruction& inst = old_.instructions[id];
    for (std::size_t i = 0; i < operand_count(inst.op); ++i) mark(inst.operands[i]);
    if (inst.op == Op::loop) mark(old_.loops[inst.immediate].trip_count);
    if (inst.op != Op::result && inst.op != Op::carried) return;
    const std::uint32_t number = loop_of(inst);
    const Loop& loop = old_.loops[number];
    slot_live_[number][inst.immediate] = true;
    mark(loop.initial[inst.immediate]);
    mark(loop.next[inst.immediate]);
  }
  [[nodiscard]] std::uint32_t loop_of(const Instruction& part) const {
    return old_.instructions[part.operands[0]].immediate;
  }

  void copy(const Block& from, Block* to) {
    for (const Id id : from) {
      if (!live_[id]) continue;
      const auto made = static_cast<Id>(new_.instructions.size());
      new_id_[id] = made;
      to->push_back(made);
      Instruction inst = old_.instructions[id];
      for (std::size_t i = 0; i < operand_count(inst.op); ++i) inst.operands[i] = new_id_[inst.operands[i]];
      if (inst.op == Op::result || inst.op == Op::carried)
        inst.immediate = new_slot_[loop_of(old_.instructions[id])][inst.immediate];
      const std::uint32_t loop = inst.immediate;
      if (inst.op == Op::loop) inst.immediate = static_cast<std::uint32_t>(new_.loops.size());
      new_.instructions.push_back(inst);
      if (inst.op == Op::loop) copy_loop(loop, inst.immediate);
    }
  }

  void copy_loop(std::uint32_t from, std::uint32_t to) {
    const Loop& loop = old_.loops[from];
    new_.loops.emplace_back();
    Loop made;
    made.trip_count = new_id_[loop.trip_count];
    copy(loop.body, &made.body);
    for (std::size_t i = 0; i < loop.initial.size(); ++i) {
      if (!slot_live_[from][i]) continue;
      made.initial.push_back(new_id_[loop.initial[i]]);
      made.next.push_back(new_id_[loop.next[i]]);
    }
    new_.loops[to] = std::move(made);
  }

  const Function& old_;
  Function new_;
  std::vector<bool> live_;
  std::vector<Id> work_;
  std::vector<Id> new_id_;
  std::vector<std::vector<bool>> slot_live_;          // of each loop's carried values
  std::vector<std::vector<std::uint32_t>> new_slot_;  // of each loop's carried values: the index among the live ones
};

}  // namespace

Function eliminate_dead_code(const Function& function) { return DeadCode(function).run(); }

namespace {

// Replaces every `index` of the block by a sum with the new argument, under the same id.
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
  return std::ranges::any_of(function.instructions, [](const Instruction& inst) { return inst.op == Op::index; });
}

Function shift_index(const Function& function) {
  Function shifted = function;
  shifted.arguments.push_back(DType::uint32);
  shift_block(shifted, shifted.body);
  for (Loop& loop : shifted.loops) shift_block(shifted, loop.body);
  return shifted;
}

}  // namespace vectis::inline v0_1::ir
