#include <map>
#include <utility>

#include "kernel/ir/folding_builder.hpp"
#include "kernel/ir/opcodes.hpp"
#include "kernel/ir/passes.hpp"

namespace vectis::inline v0_1::ir {

namespace {

class Simplifier {
 public:
  explicit Simplifier(const Function& function)
      : old_(function), folder_(function, function.name), map_(function.instructions.size()) {}

  Function run() {
    block(old_.body);
    for (const Output& output : old_.outputs) folder_.builder().output(map_[output.value], output.element);
    return eliminate_dead_code(folder_.builder().finish());
  }

 private:
  void block(const Block& ids) {
    for (const Id id : ids) {
      const Instruction& inst = old_.instructions[id];
      if (inst.op == Op::loop) {
        loop(id, inst.immediate);
      } else if (op_class(inst.op) != OpClass::loop_part) {
        Node node{inst.op, inst.type, {}, inst.immediate};
        for (std::size_t i = 0; i < operand_count(inst.op); ++i) node.operands[i] = map_[inst.operands[i]];
        map_[id] = folder_.emit(node);
      } else {
        const Parts& parts = parts_[inst.operands[0]];
        map_[id] = inst.op == Op::iteration ? parts.iteration : parts.values[inst.immediate];
      }
    }
  }

  // A carried value that never changes equals its initial value.
  [[nodiscard]] bool unchanged(Id named, const Loop& loop, std::size_t slot) const {
    if (loop.next[slot] == loop.initial[slot]) return true;
    const Instruction& next = old_.instructions[loop.next[slot]];
    return next.op == Op::carried && next.operands[0] == named && next.immediate == slot;
  }

  void loop(Id named, std::uint32_t number) {
    const Loop& loop = old_.loops[number];
    Parts& parts = parts_[named];
    for (const Id id : loop.initial) parts.values.push_back(map_[id]);
    if (folder_.constant_of(map_[loop.trip_count]) == 0U) return;
    std::vector<Value> initial;
    std::vector<std::size_t> slots;
    for (std::size_t i = 0; i < loop.initial.size(); ++i) {
      if (unchanged(named, loop, i)) continue;
      initial.push_back(parts.values[i]);
      slots.push_back(i);
    }
    const auto handle = folder_.builder().begin_loop(map_[loop.trip_count], initial);
    parts.iteration = handle.iteration;
    for (std::size_t i = 0; i < slots.size(); ++i) parts.values[slots[i]] = handle.carried[i];
    block(loop.body);
    std::vector<Value> next;
    next.reserve(slots.size());
    for (const std::size_t slot : slots) next.push_back(map_[loop.next[slot]]);
    const auto results = folder_.builder().end_loop(handle, next);
    for (std::size_t i = 0; i < slots.size(); ++i) parts_[named].values[slots[i]] = results[i];
  }

  // The new values of a loop's `iteration`, and of `carried` (inside the loop) and `result` (after it).
  struct Parts {
    Value iteration;
    std::vector<Value> values;
  };

  const Function& old_;
  FoldingBuilder folder_;
  std::vector<Value> map_;
  std::map<Id, Parts> parts_;
};

}  // namespace

Function simplify(const Function& function) {
  verify(function);
  Function now = Simplifier(function).run();
  // Removing instructions can enable further simplification.
  constexpr int rounds_max = 8;
  for (int round = 1; round < rounds_max; ++round) {
    Function next = Simplifier(now).run();
    const bool unchanged = next.instructions.size() >= now.instructions.size();
    now = std::move(next);
    if (unchanged) break;
  }
  return now;
}

LiftedFunction lift_constants(const Function& function) {
  verify(function);
  LiftedFunction lifted{function, {}};
  Function& now = lifted.function;
  std::vector<bool> stays(now.instructions.size(), false);
  for (const Loop& loop : now.loops) stays[loop.trip_count] = true;
  // In the order of the text form, so that equal functions are lifted equally.
  const auto lift = [&](const auto& self, const Block& block) -> void {
    for (const Id id : block) {
      Instruction& inst = now.instructions[id];
      if (inst.op == Op::loop) self(self, now.loops[inst.immediate].body);
      if (inst.op != Op::constant || inst.type == DType::boolean || stays[id]) continue;
      const std::uint32_t unit = inst.type == DType::float32 ? 0x3f800000U : 1U;
      if (inst.immediate == 0 || inst.immediate == unit) continue;
      lifted.values.push_back(inst.immediate);
      inst = {Op::argument, inst.type, {}, static_cast<std::uint32_t>(now.arguments.size())};
      now.arguments.push_back(inst.type);
    }
  };
  lift(lift, now.body);
  return lifted;
}

}  // namespace vectis::inline v0_1::ir
