#include <utility>

#include "kernel/ir/emitter.hpp"
#include "kernel/ir/ops.hpp"

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
    const Instruction& one = old_.instructions[id];
    for (std::size_t i = 0; i < operand_count(one.op); ++i) mark(one.operands[i]);
    if (one.op == Op::loop) mark(old_.loops[one.immediate].trips);
    if (one.op != Op::result && one.op != Op::carried) return;
    const std::uint32_t number = loop_of(one);
    const Loop& loop = old_.loops[number];
    slot_live_[number][one.immediate] = true;
    mark(loop.initial[one.immediate]);
    mark(loop.next[one.immediate]);
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
      Instruction one = old_.instructions[id];
      for (std::size_t i = 0; i < operand_count(one.op); ++i) one.operands[i] = new_id_[one.operands[i]];
      if (one.op == Op::result || one.op == Op::carried)
        one.immediate = slot(loop_of(old_.instructions[id]), one.immediate);
      const std::uint32_t loop = one.immediate;
      if (one.op == Op::loop) one.immediate = static_cast<std::uint32_t>(new_.loops.size());
      new_.instructions.push_back(one);
      if (one.op == Op::loop) copy_loop(loop, one.immediate);
    }
  }

  // The number of a carried value among those that stay.
  [[nodiscard]] std::uint32_t slot(std::uint32_t loop, std::uint32_t old_slot) const {
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < old_slot; ++i) before += slot_live_[loop][i] ? 1U : 0U;
    return before;
  }

  void copy_loop(std::uint32_t from, std::uint32_t to) {
    const Loop& loop = old_.loops[from];
    new_.loops.emplace_back();
    Loop made;
    made.trips = new_id_[loop.trips];
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
  std::vector<std::vector<bool>> slot_live_;  // of each loop's carried values
};

}  // namespace

Function drop_dead(const Function& function) { return DeadCode(function).run(); }

}  // namespace vectis::inline v0_1::ir
