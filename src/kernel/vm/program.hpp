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
    output,   // the caller's memory, at the block's elements
  };
  Kind kind = Kind::unassigned;
  std::uint32_t number = 0;

  bool operator==(const Location&) const = default;
};

// One operation of a fused chain without its operand, which is a member of VectorInstruction::in.
struct FusedOpcode {
  ir::Op op = ir::Op::add;
  FusedOp::Form form = FusedOp::Form::binary;
};

// One VM instruction with registers allocated: a kernel call over the elements of a block, or the head of a loop.
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

// The initial value of one uniform (a vector of equal elements): a constant or an argument of the call.
struct UniformValue {
  std::uint32_t uniform = 0;
  bool is_argument = false;
  std::uint32_t value = 0;  // the bits (bool: 0 or all ones), or the index of the argument
};

// A function compiled for the CPU vector VM. Immutable after compile().
struct Program {
  std::vector<UniformValue> uniform_values;
  std::vector<VectorInstruction> prologue;  // computes uniforms from uniforms, once before the first block
  std::vector<VectorInstruction> body;      // runs for each block
  std::uint32_t registers = 0;              // vector registers
  std::uint32_t uniforms = 0;
  std::size_t block = 0;  // elements per block; a multiple of lanes_max, chosen so that a block's data stays in L1
};

// Compiles a function: lowers it, fuses chains, allocates vector registers and chooses the block size. Requires a
// function that ir::verify() accepts; does not check it, and throws only std::bad_alloc.
Program compile(const ir::Function& function);

}  // namespace vectis::inline v0_1::vm
