// The kernel table of the CPU vector VM. A vector kernel implements one opcode as a loop over a block of 32-bit
// elements, and is compiled for every instruction set (Highway's dynamic dispatch).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::vm {

// No vector register is longer, and every block is a multiple of it.
inline constexpr std::size_t lanes_max = 64;

// One operation of a fused chain. It replaces the running value `a` by a op b, b op a, a op a or op(a).
struct FusedOp {
  enum class Form : std::uint8_t { binary, reversed, self, unary };
  ir::Op op = ir::Op::add;
  Form form = Form::binary;
  const float* operand = nullptr;  // b; unused by self and unary
  std::size_t stride = 0;
};

// The operands of one kernel call. A bool is all ones or zero. An operand with stride 0 is one vector of `lanes_max`
// equal elements for the whole block; every other operand has stride 1. `out` may be the memory of an operand.
struct KernelArgs {
  std::array<const void*, 3> in{};
  std::array<std::size_t, 3> stride{};
  void* out = nullptr;
  const void* table = nullptr;     // gather
  std::uint64_t number = 0;        // gather: elements of the table; index: the index of the block's first element
  std::span<const FusedOp> fused;  // fused chain
  bool nontemporal = false;        // fused chain: bypass the caches where `out` is aligned to a vector
};

// Requires `count` to be a multiple of the vector's lanes.
using VectorKernel = void (*)(const KernelArgs& args, std::size_t count);

// The kernel of an operation whose first operand has type `from`. Null for operations that compute nothing: constants,
// arguments, bit casts and the parts of loops.
VectorKernel find_kernel(ir::Op op, DType from, DType to);
VectorKernel gather_kernel(DType element);
// Convert between packed elements in memory and 32-bit elements; float32, int32 and uint32 are copied.
VectorKernel load_kernel(DType element);
VectorKernel store_kernel(DType element);
// Runs a chain of float32 operations, each on the result of the one before. Intermediate values stay in registers,
// which saves a load and a store per operation.
VectorKernel fused_kernel();
// True for the operations that fused_kernel implements.
bool is_fusible(ir::Op op) noexcept;

// The parts of the table, one per file; each returns null for operations of another part.
VectorKernel find_arithmetic(ir::Op op, DType type);
VectorKernel find_integer(ir::Op op, DType type);
VectorKernel find_conversion(ir::Op op, DType from, DType to);
VectorKernel find_math(ir::Op op);

}  // namespace vectis::inline v0_1::vm
