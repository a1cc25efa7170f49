// Runs a function one element after another in a domain of values: numbers, numbers with bounds, ...
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "kernel/ir/ops.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// One element of a buffer as loaded: `real` for f32, else `bits`.
struct Loaded {
  double real = 0;
  std::uint32_t bits = 0;
};
Loaded load(DType element, std::span<const std::byte> bytes, std::size_t at) noexcept;
std::size_t element_count(DType element, std::span<const std::byte> bytes) noexcept;

// Throws InvalidInput unless the function is right and the bindings hold what `count` elements read.
void check_bindings(const Function& function, const Bindings& bindings, std::size_t count);

// A Domain has a type Value with `bits` for integers, made by `real(double)` from an exact f32 and by `whole(DType,
// bits)`; `apply(instruction, type of operand 0, operands)` computes all that is not a leaf, a gather or part of a
// loop; `gathered(value, index, type)` is told what a table holds at an index.
template <class Domain>
class Machine {
 public:
  using Value = typename Domain::Value;

  // Checked bindings; both outlive the machine.
  Machine(const Function& function, const Bindings& bindings, Domain domain = Domain())
      : function_(function), bindings_(bindings), domain_(std::move(domain)), values_(function.instructions.size()) {}

  // The values of all outputs for one element, in order.
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
  struct Turn {
    std::vector<Value> carried;
    std::uint32_t iteration = 0;
  };

  Value from(DType element, std::span<const std::byte> bytes, std::size_t at) {
    const Loaded one = load(element, bytes, at);
    return make(loaded_type(element), one);
  }
  Value make(DType type, const Loaded& one) {
    return type == DType::float32 ? domain_.real(one.real) : domain_.whole(type, one.bits);
  }

  void run(const Block& block) {
    for (const Id id : block) {
      const Instruction& one = function_.instructions[id];
      if (one.op == Op::loop) {
        run_loop(one.immediate);
      } else {
        values_[id] = value_of(one);
      }
    }
  }

  Value value_of(const Instruction& one) {
    switch (one.op) {
      case Op::constant:
        return from_bits(one.type, one.immediate);
      case Op::argument:
        return from_bits(one.type, bindings_.arguments[one.immediate]);
      case Op::input:
        return from(function_.inputs[one.immediate], bindings_.inputs[one.immediate], element_);
      case Op::index:
        return domain_.whole(DType::uint32, static_cast<std::uint32_t>(element_));
      case Op::gather:
        return gathered(one);
      case Op::result:
      case Op::carried:
        return turn(one).carried[one.immediate];
      case Op::iteration:
        return domain_.whole(DType::uint32, turn(one).iteration);
      default: {
        std::array<Value, 3> operands{};
        for (std::size_t i = 0; i < operand_count(one.op); ++i) operands[i] = values_[one.operands[i]];
        return domain_.apply(one, function_.instructions[one.operands[0]].type, operands);
      }
    }
  }
  Value from_bits(DType type, std::uint32_t bits) {
    return make(type, {static_cast<double>(std::bit_cast<float>(bits)), bits});
  }

  Value gathered(const Instruction& one) {
    const Value& index = values_[one.operands[0]];
    const DType element = function_.tables[one.immediate];
    const auto bytes = bindings_.tables[one.immediate];
    const std::size_t last = element_count(element, bytes) - 1;
    return domain_.gathered(from(element, bytes, std::min<std::size_t>(index.bits, last)), index, one.type);
  }

  Turn& turn(const Instruction& part) {
    turns_.resize(function_.loops.size());
    return turns_[function_.instructions[part.operands[0]].immediate];
  }

  void run_loop(std::uint32_t number) {
    turns_.resize(function_.loops.size());
    const Loop& loop = function_.loops[number];
    turns_[number].carried = these(loop.initial);
    const std::uint32_t trips = values_[loop.trips].bits;
    for (std::uint32_t i = 0; i < trips; ++i) {
      turns_[number].iteration = i;
      run(loop.body);
      turns_[number].carried = these(loop.next);
    }
  }
  std::vector<Value> these(const std::vector<Id>& ids) const {
    std::vector<Value> all;
    all.reserve(ids.size());
    for (const Id id : ids) all.push_back(values_[id]);
    return all;
  }

  const Function& function_;
  const Bindings& bindings_;
  Domain domain_;
  std::vector<Value> values_;
  std::vector<Turn> turns_;
  std::size_t element_ = 0;
};

// f32 in double, never rounded to float in between.
struct Plain {
  using Value = Loaded;
  static Value real(double value) { return {value, 0}; }
  static Value whole(DType, std::uint32_t bits) { return {0, bits}; }
  static Value gathered(const Value& value, const Value&, DType) { return value; }
  static Value apply(const Instruction& one, DType operand, const std::array<Value, 3>& operands) noexcept;
};

}  // namespace vectis::inline v0_1::ir
