// A compiled function: VM instructions over a block of elements, with registers allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/vm/kernel_table.hpp"
#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::vm {

// Where a value is stored while a block is computed.
struct Location {
  enum class Kind : std::uint8_t {
    unassigned,
    vector,   // a vector register: one block of scratch memory
    uniform,  // one hardware vector of equal elements, the same for all blocks
    input,    // the caller's memory, at the block's elements
    output,
  };
  Kind kind = Kind::unassigned;
  std::uint32_t number = 0;

  bool operator==(const Location&) const = default;
};

struct FusedOpcode {
  ir::Op op = ir::Op::add;
  FusedOp::Form form = FusedOp::Form::binary;
};

struct VectorInstruction {
  VectorKernel kernel = nullptr;  // null: a loop whose body ends before instruction `end`
  Location out;
  std::vector<Location> in;
  ir::Op op = ir::Op::constant;         // index and gather need more than operands
  std::uint32_t table = 0;              // gather
  std::size_t end = 0;                  // loop
  std::vector<FusedOpcode> fused = {};  // fused chain: the operand of operation k is in[k + 1]
  bool result_unread = false;           // no instruction of the program reads the result
};

// The value of a uniform: a constant or an argument.
struct UniformValue {
  std::uint32_t uniform = 0;
  bool is_argument = false;
  std::uint32_t value = 0;  // the bits (bool: 0 or all ones), or the index of the argument
};

// Immutable after compile().
struct Program {
  std::vector<UniformValue> uniform_values;
  std::vector<VectorInstruction> prologue;  // computes uniforms from uniforms, once before the first block
  std::vector<VectorInstruction> body;      // runs for each block
  std::uint32_t registers = 0;              // vector registers
  std::uint32_t uniforms = 0;
  std::size_t block = 0;  // elements per block; a multiple of lanes_max, chosen so that a block's data stays in L1
};

// Requires a verified function.
Program compile(const ir::Function& function);

}  // namespace vectis::inline v0_1::vm
