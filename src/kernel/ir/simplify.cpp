#include <map>
#include <utility>

#include "kernel/ir/emitter.hpp"
#include "kernel/ir/ops.hpp"

namespace vectis::inline v0_1::ir {

namespace {

class Simplifier {
 public:
  explicit Simplifier(const Function& function)
      : old_(function), emitter_(function, function.name), map_(function.instructions.size()) {}

  Function run() {
    block(old_.body);
    for (const Output& output : old_.outputs) emitter_.builder().output(map_[output.value], output.element);
    return drop_dead(emitter_.builder().finish());
  }

 private:
  void block(const Block& ids) {
    for (const Id id : ids) {
      const Instruction& one = old_.instructions[id];
      if (one.op == Op::loop) {
        loop(id, one.immediate);
      } else if (shape(one.op) != Shape::looped) {
        Node node{one.op, one.type, {}, one.immediate};
        for (std::size_t i = 0; i < operand_count(one.op); ++i) node.operands[i] = map_[one.operands[i]];
        map_[id] = emitter_.emit(node);
      } else {
        const Parts& parts = parts_[one.operands[0]];
        map_[id] = one.op == Op::iteration ? parts.iteration : parts.values[one.immediate];
      }
    }
  }

  // A carried value that only passes itself on is its initial value.
  [[nodiscard]] bool unchanged(Id named, const Loop& loop, std::size_t slot) const {
    if (loop.next[slot] == loop.initial[slot]) return true;
    const Instruction& next = old_.instructions[loop.next[slot]];
    return next.op == Op::carried && next.operands[0] == named && next.immediate == slot;
  }

  void loop(Id named, std::uint32_t number) {
    const Loop& loop = old_.loops[number];
    Parts& parts = parts_[named];
    for (const Id id : loop.initial) parts.values.push_back(map_[id]);
    if (emitter_.constant_of(map_[loop.trips]) == 0U) return;
    std::vector<Value> initial;
    std::vector<std::size_t> slots;
    for (std::size_t i = 0; i < loop.initial.size(); ++i) {
      if (unchanged(named, loop, i)) continue;
      initial.push_back(parts.values[i]);
      slots.push_back(i);
    }
    const auto handle = emitter_.builder().begin_loop(map_[loop.trips], initial);
    parts.iteration = handle.iteration;
    for (std::size_t i = 0; i < slots.size(); ++i) parts.values[slots[i]] = handle.carried[i];
    block(loop.body);
    std::vector<Value> next;
    next.reserve(slots.size());
    for (const std::size_t slot : slots) next.push_back(map_[loop.next[slot]]);
    const auto results = emitter_.builder().end_loop(handle, next);
    for (std::size_t i = 0; i < slots.size(); ++i) parts_[named].values[slots[i]] = results[i];
  }

  // What `carried`, later `result`, and `iteration` of a loop are now.
  struct Parts {
    Value iteration;
    std::vector<Value> values;
  };

  const Function& old_;
  Emitter emitter_;
  std::vector<Value> map_;
  std::map<Id, Parts> parts_;
};

}  // namespace

Function simplify(const Function& function) {
  verify(function);
  Function now = Simplifier(function).run();
  // What one round removes may let the next remove more.
  constexpr int rounds_max = 8;
  for (int round = 1; round < rounds_max; ++round) {
    Function next = Simplifier(now).run();
    const bool settled = next.instructions.size() >= now.instructions.size();
    now = std::move(next);
    if (settled) break;
  }
  return now;
}

Lifted lift_constants(const Function& function) {
  verify(function);
  Lifted lifted{function, {}};
  Function& now = lifted.function;
  std::vector<bool> stays(now.instructions.size(), false);
  for (const Loop& loop : now.loops) stays[loop.trips] = true;
  // Leaves may be anywhere; in the order of the text, so that equal functions lift equally.
  const auto lift = [&](const auto& self, const Block& block) -> void {
    for (const Id id : block) {
      Instruction& one = now.instructions[id];
      if (one.op == Op::loop) self(self, now.loops[one.immediate].body);
      if (one.op != Op::constant || one.type == DType::boolean || stays[id]) continue;
      const std::uint32_t unit = one.type == DType::float32 ? 0x3f800000U : 1U;
      if (one.immediate == 0 || one.immediate == unit) continue;
      lifted.values.push_back(one.immediate);
      one = {Op::argument, one.type, {}, static_cast<std::uint32_t>(now.arguments.size())};
      now.arguments.push_back(one.type);
    }
  };
  lift(lift, now.body);
  return lifted;
}

}  // namespace vectis::inline v0_1::ir
