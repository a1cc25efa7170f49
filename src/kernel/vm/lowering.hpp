// Lowering of an IR function to VM instructions over virtual registers, before register allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/vm/program.hpp"

namespace vectis::inline v0_1::vm {

// Anything that needs storage: the value of an instruction, a value carried by a loop, or a copy.
using VirtualRegister = std::uint32_t;
inline constexpr VirtualRegister no_register = UINT32_MAX;

struct LoweredInstruction {
  VectorKernel kernel = nullptr;      // null: a loop whose body ends before instruction `end`
  VirtualRegister out = no_register;  // of a loop: the iteration's number
  // Up to three. Of a fused chain: the first value, then one operand per fused operation, or no_register.
  std::vector<VirtualRegister> in = {};
  ir::Op op = ir::Op::constant;
  std::uint32_t table = 0;
  std::size_t end = 0;
  bool fusible = false;
  std::vector<FusedOpcode> fused = {};
};

struct LoweredProgram {
  std::vector<Location> locations;  // of each virtual register; `unassigned` until register allocation
  std::vector<UniformValue> uniform_values;
  std::vector<LoweredInstruction> prologue;
  std::vector<LoweredInstruction> body;  // stores to outputs come last
  std::uint32_t uniforms = 0;
};

LoweredProgram lower(const ir::Function& function);

// Fuses adjacent fusible instructions into chains where the value between them has no other use.
void fuse_chains(LoweredProgram& program);

}  // namespace vectis::inline v0_1::vm
