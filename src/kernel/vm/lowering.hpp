// Lowering of an IR function to VM instructions over virtual registers, before register allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/vm/program.hpp"

namespace vectis::inline v0_1::vm {

// The index of something that needs storage: the value of an instruction, a value carried by a loop, or a copy.
using VirtualRegister = std::uint32_t;
// The VirtualRegister of an absent operand or result.
inline constexpr VirtualRegister no_register = UINT32_MAX;

// One VM instruction over virtual registers: a kernel call, or the head of a loop.
struct LoweredInstruction {
  VectorKernel kernel = nullptr;      // null: a loop whose body ends before instruction `end`
  VirtualRegister out = no_register;  // of a loop: the iteration's number
  // The operands: at most three, or in a fused chain, of any length, the first value and then one operand per fused
  // operation (no_register for an operation without one).
  std::vector<VirtualRegister> in = {};
  ir::Op op = ir::Op::constant;
  std::uint32_t table = 0;  // gather: the index of the table
  std::size_t end = 0;      // loop: the index of the first instruction after its body
  bool fusible = false;     // fuse_chains() may make it part of a chain
  std::vector<FusedOpcode> fused = {};
};

// An IR function as VM instructions over virtual registers, before register allocation.
struct LoweredProgram {
  std::vector<Location> locations;  // of each virtual register; `unassigned` until register allocation
  std::vector<UniformValue> uniform_values;
  std::vector<LoweredInstruction> prologue;  // computes uniforms from uniforms, once before the first block
  std::vector<LoweredInstruction> body;      // stores to outputs come last
  std::uint32_t uniforms = 0;
};

// Lowers a function to VM instructions. Values of constants and arguments alone become uniforms of the prologue.
// Requires a function that ir::verify() accepts; does not check it.
LoweredProgram lower(const ir::Function& function);

// Replaces adjacent fusible instructions of the body by fused chains where the value between them has no other use.
// Requires a program from lower() that is not fused yet; does not check it.
void fuse_chains(LoweredProgram& program);

}  // namespace vectis::inline v0_1::vm
