#include "kernel/vm/lowering.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace vectis::inline v0_1::vm {

namespace {

using ir::Id;
using ir::Instruction;
using ir::Op;

class Lowering {
 public:
  explicit Lowering(const ir::Function& function)
      : function_(function), registers_(function.instructions.size(), no_register), carried_(function.loops.size()) {}

  LoweredProgram run() {
    block(function_.body, true);
    // An output that is an unchanged input is copied first: another output may share the input's memory.
    std::vector<VirtualRegister> values;
    for (const ir::Output& output : function_.outputs) {
      VirtualRegister value = registers_[output.value];
      if (program_.locations[value].kind == Location::Kind::input) value = copy(value, add({}));
      values.push_back(value);
    }
    for (std::uint32_t o = 0; o < values.size(); ++o) {
      const VirtualRegister out = add({Location::Kind::output, o});
      push({.kernel = store_kernel(function_.outputs[o].element), .out = out, .in = {values[o]}});
    }
    return std::move(program_);
  }

 private:
  const Instruction& at(Id id) const { return function_.instructions[id]; }

  VirtualRegister add(Location location) {
    program_.locations.push_back(location);
    return static_cast<VirtualRegister>(program_.locations.size() - 1);
  }
  VirtualRegister add_uniform() { return add({Location::Kind::uniform, program_.uniforms++}); }
  [[nodiscard]] bool is_uniform(VirtualRegister value) const {
    return program_.locations[value].kind == Location::Kind::uniform;
  }

  VirtualRegister copy(VirtualRegister from, VirtualRegister to) {
    push({.kernel = store_kernel(DType::uint32), .out = to, .in = {from}});
    return to;
  }
  void push(LoweredInstruction instruction) { program_.body.push_back(std::move(instruction)); }

  void block(const ir::Block& block, bool outermost) {
    for (const Id id : block) {
      if (at(id).op == Op::loop) {
        loop(at(id).immediate);
      } else {
        registers_[id] = value(at(id), outermost);
      }
    }
  }

  VirtualRegister scalar(bool is_argument, std::uint32_t value) {
    const VirtualRegister uniform = add_uniform();
    program_.uniform_values.push_back({program_.locations[uniform].number, is_argument, value});
    return uniform;
  }

  // True when the result has the same bits as its operand, so that no code is needed.
  [[nodiscard]] bool same_bits(const Instruction& one) const {
    const DType from = at(one.operands[0]).type;
    if (one.op == Op::bitcast) return true;
    if (one.op == Op::abs) return from == DType::uint32;
    if (one.op != Op::convert) return false;
    return from == one.type || (from != DType::float32 && from != DType::boolean && one.type != DType::float32 &&
                                one.type != DType::boolean);
  }

  VirtualRegister value(const Instruction& one, bool outermost) {
    switch (one.op) {
      case Op::constant:
        return scalar(false, one.type == DType::boolean && one.immediate != 0 ? ~0U : one.immediate);
      case Op::argument:
        return scalar(true, one.immediate);
      case Op::input:
        return input(one.immediate);
      case Op::result:
      case Op::carried:
        return carried_[at(one.operands[0]).immediate][one.immediate];
      case Op::iteration:
        return iterations_[at(one.operands[0]).immediate];
      default:
        return same_bits(one) ? registers_[one.operands[0]] : computed(one, outermost);
    }
  }

  VirtualRegister input(std::uint32_t number) {
    const VirtualRegister source = add({Location::Kind::input, number});
    const DType element = function_.inputs[number];
    if (lanes(element) == 1) return source;
    const VirtualRegister out = add({});
    push({.kernel = load_kernel(element), .out = out, .in = {source}});
    return out;
  }

  // A value of uniforms alone is hoisted into the prologue.
  VirtualRegister computed(const Instruction& one, bool outermost) {
    LoweredInstruction lowered{.op = one.op};
    bool hoisted = outermost && one.op != Op::index && one.op != Op::gather;
    const std::size_t operands = ir::operand_count(one.op);
    for (std::size_t i = 0; i < operands; ++i) {
      lowered.in.push_back(registers_[one.operands[i]]);
      hoisted = hoisted && is_uniform(lowered.in.back());
    }
    const DType from = operands == 0 ? one.type : at(one.operands[0]).type;
    lowered.kernel =
        one.op == Op::gather ? gather_kernel(function_.tables[one.immediate]) : find_kernel(one.op, from, one.type);
    lowered.table = one.immediate;
    lowered.fusible = from == DType::float32 && !hoisted && is_fusible(one.op);
    lowered.out = hoisted ? add_uniform() : add({});
    (hoisted ? program_.prologue : program_.body).push_back(lowered);
    return lowered.out;
  }

  void loop(std::uint32_t number) {
    const ir::Loop& loop = function_.loops[number];
    std::vector<VirtualRegister> carried;
    carried.reserve(loop.initial.size());
    for (const Id id : loop.initial) carried.push_back(copy(registers_[id], add({})));
    carried_[number] = carried;
    iterations_.resize(function_.loops.size(), no_register);
    iterations_[number] = add_uniform();
    const std::size_t begin = program_.body.size();
    push({.out = iterations_[number], .in = {registers_[loop.trip_count]}, .op = Op::loop});
    block(loop.body, false);
    // Carried values change together (a parallel copy): one that is the next value of another is saved first.
    const std::unordered_set<VirtualRegister> all(carried.begin(), carried.end());
    std::vector<VirtualRegister> next;
    for (std::size_t k = 0; k < carried.size(); ++k) {
      const VirtualRegister value = registers_[loop.next[k]];
      const bool other = value != carried[k] && all.contains(value);
      next.push_back(other ? copy(value, add({})) : value);
    }
    for (std::size_t k = 0; k < carried.size(); ++k) {
      if (next[k] != carried[k]) copy(next[k], carried[k]);
    }
    program_.body[begin].end = program_.body.size();
  }

  const ir::Function& function_;
  LoweredProgram program_;
  std::vector<VirtualRegister> registers_;             // of each IR instruction
  std::vector<std::vector<VirtualRegister>> carried_;  // of each loop
  std::vector<VirtualRegister> iterations_;            // of each loop
};

// Turns a single operation into a chain of one.
void begin_chain(LoweredInstruction& instruction) {
  if (!instruction.fused.empty()) return;
  FusedOpcode fused{instruction.op, FusedOp::Form::binary};
  if (instruction.in.size() == 1) fused.form = FusedOp::Form::unary;
  if (instruction.in.size() == 2 && instruction.in[0] == instruction.in[1]) fused.form = FusedOp::Form::self;
  if (fused.form != FusedOp::Form::binary) instruction.in = {instruction.in[0], no_register};
  instruction.fused = {fused};
  instruction.kernel = fused_kernel();
}

void append(LoweredInstruction& chain, const LoweredInstruction& next) {
  const VirtualRegister previous = chain.out;
  FusedOpcode fused{next.op, FusedOp::Form::unary};
  VirtualRegister operand = no_register;
  if (next.in.size() == 2) {
    if (next.in[0] == previous && next.in[1] == previous) {
      fused.form = FusedOp::Form::self;
    } else {
      fused.form = next.in[0] == previous ? FusedOp::Form::binary : FusedOp::Form::reversed;
      operand = next.in[0] == previous ? next.in[1] : next.in[0];
    }
  }
  chain.fused.push_back(fused);
  chain.in.push_back(operand);
  chain.out = next.out;
}

}  // namespace

LoweredProgram lower(const ir::Function& function) { return Lowering(function).run(); }

void fuse_chains(LoweredProgram& program) {
  std::vector<std::size_t> uses(program.locations.size(), 0);
  for (const LoweredInstruction& instruction : program.body) {
    for (const VirtualRegister operand : instruction.in) ++uses[operand];
  }
  std::vector<LoweredInstruction> fused;
  std::vector<std::size_t> new_index;  // of each old instruction, and of the end
  for (LoweredInstruction& instruction : program.body) {
    new_index.push_back(fused.size());
    // The previous value is in the same scope: a value of a loop's body has no uses outside it.
    if (!fused.empty() && fused.back().fusible && instruction.fusible) {
      const VirtualRegister previous = fused.back().out;
      const auto uses_here = static_cast<std::size_t>(std::ranges::count(instruction.in, previous));
      if (uses_here > 0 && uses_here == uses[previous]) {
        begin_chain(fused.back());
        append(fused.back(), instruction);
        continue;
      }
    }
    fused.push_back(std::move(instruction));
  }
  new_index.push_back(fused.size());
  for (LoweredInstruction& instruction : fused) {
    if (instruction.kernel == nullptr) instruction.end = new_index[instruction.end];
  }
  program.body = std::move(fused);
}

}  // namespace vectis::inline v0_1::vm
