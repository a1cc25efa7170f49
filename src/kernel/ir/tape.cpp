#include "kernel/ir/tape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernel/ir/ops.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_input, "ir.derivative", message);
}

class Unroller {
 public:
  Unroller(const Function& function, Emitter& emitter)
      : function_(function),
        emitter_(emitter),
        step_of_(function.instructions.size()),
        carried_(function.loops.size()),
        iteration_(function.loops.size()) {}

  Tape run() {
    block(function_.body);
    for (const Output& output : function_.outputs) tape_.outputs.push_back(step_of_[output.value]);
    return std::move(tape_);
  }

 private:
  void block(const Block& ids) {
    for (const Id id : ids) {
      const Instruction& one = function_.instructions[id];
      if (one.op == Op::loop) {
        loop(one.immediate);
      } else if (one.op == Op::result || one.op == Op::carried) {
        step_of_[id] = carried_[loop_of(one)][one.immediate];
      } else if (one.op == Op::iteration) {
        step_of_[id] = add({Op::constant, DType::uint32, {}, iteration_[loop_of(one)], {}, false});
      } else {
        Step step{one.op, one.type, {}, one.immediate, {}, false};
        for (std::size_t i = 0; i < operand_count(one.op); ++i) step.operands[i] = step_of_[one.operands[i]];
        step_of_[id] = add(step);
      }
    }
  }
  [[nodiscard]] std::uint32_t loop_of(const Instruction& part) const {
    return function_.instructions[part.operands[0]].immediate;
  }

  std::size_t add(Step step) {
    if (tape_.steps.size() == tape_steps_max)
      refuse(fmt::format("'{}' unrolls into more than {} instructions; make its loops shorter", function_.name,
                         tape_steps_max));
    Node node{step.op, step.type, {}, step.immediate};
    bool from_active = step.op == Op::input;
    for (std::size_t i = 0; i < operand_count(step.op); ++i) {
      const Step& operand = tape_.steps[step.operands[i]];
      node.operands[i] = operand.value;
      from_active = from_active || operand.active;
    }
    step.active = from_active && step.type == DType::float32;
    step.value = emitter_.emit(node);
    tape_.steps.push_back(step);
    return tape_.steps.size() - 1;
  }

  void loop(std::uint32_t number) {
    const Loop& loop = function_.loops[number];
    const Instruction& trips = function_.instructions[loop.trips];
    if (trips.op != Op::constant)
      refuse(fmt::format("loop {} of '{}' has trips that are no constant; only constant ones have a derivative", number,
                         function_.name));
    if (trips.immediate > unrolled_trips_max)
      refuse(fmt::format("loop {} of '{}' has {} trips, more than {}; make it shorter", number, function_.name,
                         trips.immediate, unrolled_trips_max));
    carried_[number] = steps_of(loop.initial);
    for (std::uint32_t i = 0; i < trips.immediate; ++i) {
      iteration_[number] = i;
      block(loop.body);
      carried_[number] = steps_of(loop.next);
    }
  }
  [[nodiscard]] std::vector<std::size_t> steps_of(const std::vector<Id>& ids) const {
    std::vector<std::size_t> steps;
    steps.reserve(ids.size());
    for (const Id id : ids) steps.push_back(step_of_[id]);
    return steps;
  }

  const Function& function_;
  Emitter& emitter_;
  Tape tape_;
  std::vector<std::size_t> step_of_;  // of each instruction, its latest
  std::vector<std::vector<std::size_t>> carried_;
  std::vector<std::uint32_t> iteration_;
};

}  // namespace

Tape unroll(const Function& function, Emitter& emitter) { return Unroller(function, emitter).run(); }

}  // namespace vectis::inline v0_1::ir
