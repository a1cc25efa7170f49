// An abstract interpreter: runs a function element by element over a domain of values, such as doubles or intervals
// (Cousot and Cousot, 1977).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kernel/ir/opcodes.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// The value of one element: `real` for f32; `bits` for i32, u32 and bool (0 or 1).
struct ScalarValue {
  double real = 0;
  std::uint32_t bits = 0;
};
// Reads element `at` of packed elements; float16 and bfloat16 become f32, and int8 becomes i32. Requires `at` below
// element_count(element, bytes); does not check it.
ScalarValue load(DType element, std::span<const std::byte> bytes, std::size_t at) noexcept;
// Returns how many whole elements of a kernel type the bytes hold.
std::size_t element_count(DType element, std::span<const std::byte> bytes) noexcept;

// Throws InvalidInput unless the function verifies, the bindings have as many inputs, tables and arguments as the
// function, every input holds at least `count` elements, and every table at least one.
void check_bindings(const Function& function, const Bindings& bindings, std::size_t count);

// Runs a function element by element over the values of a Domain. A Domain provides
//   Value                                  the type of values, with a member `bits` for integers
//   real(double), integer(DType, bits)     a value from an exact f32 or from integer bits
//   apply(instruction, type of operand 0, operands)   every operation but leaves, gather and the parts of loops
//   gathered(value, index, type)           the value of a gather, given the table's element at the index
template <class Domain>
class Interpreter {
 public:
  using Value = typename Domain::Value;

  // Keeps references to the function and the bindings, which must outlive the interpreter. Requires bindings that
  // check_bindings() accepts; does not check them.
  Interpreter(const Function& function, const Bindings& bindings, Domain domain = Domain())
      : function_(function), bindings_(bindings), domain_(std::move(domain)), values_(function.instructions.size()) {}

  // Runs the function for one element and returns the values of all outputs, in order. Requires `element` below the
  // count that check_bindings() accepted; does not check it.
  std::vector<Value> run(std::size_t element) {
    element_ = element;
    run(function_.body);
    std::vector<Value> outputs;
    outputs.reserve(function_.outputs.size());
    for (const Output& output : function_.outputs) outputs.push_back(values_[output.value]);
    return outputs;
  }
  Domain& domain() { return domain_; }

 private:
  struct LoopState {
    std::vector<Value> carried;
    std::uint32_t iteration = 0;
  };

  Value from(DType element, std::span<const std::byte> bytes, std::size_t at) {
    const ScalarValue inst = load(element, bytes, at);
    return make(loaded_type(element), inst);
  }
  Value make(DType type, const ScalarValue& inst) {
    return type == DType::float32 ? domain_.real(inst.real) : domain_.integer(type, inst.bits);
  }

  void run(const Block& block) {
    for (const Id id : block) {
      const Instruction& inst = function_.instructions[id];
      if (inst.op == Op::loop) {
        run_loop(inst.immediate);
      } else {
        values_[id] = value_of(inst);
      }
    }
  }

  Value value_of(const Instruction& inst) {
    switch (inst.op) {
      case Op::constant:
        return from_bits(inst.type, inst.immediate);
      case Op::argument:
        return from_bits(inst.type, bindings_.arguments[inst.immediate]);
      case Op::input:
        return from(function_.inputs[inst.immediate], bindings_.inputs[inst.immediate], element_);
      case Op::index:
        return domain_.integer(DType::uint32, static_cast<std::uint32_t>(element_));
      case Op::gather:
        return gathered(inst);
      case Op::result:
      case Op::carried:
        return loop_state(inst).carried[inst.immediate];
      case Op::iteration:
        return domain_.integer(DType::uint32, loop_state(inst).iteration);
      default: {
        std::array<Value, 3> operands{};
        for (std::size_t i = 0; i < operand_count(inst.op); ++i) operands[i] = values_[inst.operands[i]];
        return domain_.apply(inst, function_.instructions[inst.operands[0]].type, operands);
      }
    }
  }
  Value from_bits(DType type, std::uint32_t bits) {
    return make(type, {static_cast<double>(std::bit_cast<float>(bits)), bits});
  }

  Value gathered(const Instruction& inst) {
    const Value& index = values_[inst.operands[0]];
    const DType element = function_.tables[inst.immediate];
    const auto bytes = bindings_.tables[inst.immediate];
    const std::size_t last = element_count(element, bytes) - 1;
    return domain_.gathered(from(element, bytes, std::min<std::size_t>(index.bits, last)), index, inst.type);
  }

  LoopState& loop_state(const Instruction& part) {
    loop_states_.resize(function_.loops.size());
    return loop_states_[function_.instructions[part.operands[0]].immediate];
  }

  void run_loop(std::uint32_t number) {
    loop_states_.resize(function_.loops.size());
    const Loop& loop = function_.loops[number];
    loop_states_[number].carried = values_of(loop.initial);
    const std::uint32_t trip_count = values_[loop.trip_count].bits;
    for (std::uint32_t i = 0; i < trip_count; ++i) {
      loop_states_[number].iteration = i;
      run(loop.body);
      loop_states_[number].carried = values_of(loop.next);
    }
  }
  std::vector<Value> values_of(const std::vector<Id>& ids) const {
    std::vector<Value> all;
    all.reserve(ids.size());
    for (const Id id : ids) all.push_back(values_[id]);
    return all;
  }

  const Function& function_;
  const Bindings& bindings_;
  Domain domain_;
  std::vector<Value> values_;
  std::vector<LoopState> loop_states_;
  std::size_t element_ = 0;
};

// The Domain of the reference interpreter: f32 values are doubles that are never rounded to float (except by
// bitcast), integers and bools are 32 bits.
struct DoubleDomain {
  using Value = ScalarValue;
  static Value real(double value) { return {value, 0}; }
  static Value integer(DType, std::uint32_t bits) { return {0, bits}; }
  static Value gathered(const Value& value, const Value&, DType) { return value; }
  // Computes an operation, given the type of its first operand. The instruction must be no leaf, gather or part of a
  // loop; this is not checked. Does not throw: a float operation outside its domain returns NaN.
  static Value apply(const Instruction& inst, DType operand, const std::array<Value, 3>& operands) noexcept;
};

}  // namespace vectis::inline v0_1::ir
