// The kernel table of the CPU vector VM. A vector kernel implements one opcode as a loop over a block of 32-bit
// elements, and is compiled for every instruction set (Highway's dynamic dispatch).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::vm {

// Maximum count of 32-bit elements in a hardware vector register; the elements of every block are a multiple of it.
inline constexpr std::size_t lanes_max = 64;

// One operation of a fused chain of float32 operations. By its form it replaces the running value `a` by a op b
// (binary), b op a (reversed), a op a (self) or op(a) (unary). Requires is_fusible(op).
struct FusedOp {
  enum class Form : std::uint8_t { binary, reversed, self, unary };
  ir::Op op = ir::Op::add;
  Form form = Form::binary;
  const float* operand = nullptr;  // b; unused by self and unary
  std::size_t stride = 0;
};

// The operands of one call of a VectorKernel. A bool is all ones or zero. An operand with stride 0 is one vector of
// `lanes_max` equal elements for the whole block; every other operand has stride 1. `out` may be the memory of an
// operand.
struct KernelArgs {
  std::array<const void*, 3> in{};
  std::array<std::size_t, 3> stride{};
  void* out = nullptr;
  const void* table = nullptr;     // gather
  std::uint64_t number = 0;        // gather: elements of the table; index: the index of the block's first element
  std::span<const FusedOp> fused;  // fused chain
  bool nontemporal = false;        // fused chain: bypass the caches where `out` is aligned to a vector
};

// A kernel: computes `count` elements of one opcode from args.in into args.out. Requires `count` to be a multiple of
// the hardware vector's lanes (of lanes_max to be safe) and memory for `count` elements; does not check or throw.
using VectorKernel = void (*)(const KernelArgs& args, std::size_t count);

// Returns the kernel of an operation with a first operand of type `from` and a result of type `to`, for the host's
// instruction set. Null for operations without a kernel here: constant, argument, input, gather (see gather_kernel),
// bitcast, abs of u32 and the parts of loops. Requires types that the operation takes; does not check them.
VectorKernel find_kernel(ir::Op op, DType from, DType to);
// Returns the kernel that reads elements of a table at u32 indices and unpacks them; an index beyond the table is
// clamped to its last element. Never null. Requires a kernel type, and calls with a table of at least one element.
VectorKernel gather_kernel(DType element);
// Returns the kernel that unpacks float16, bfloat16 and int8 elements from memory to 32 bits; for every other type it
// copies 32-bit elements. Never null.
VectorKernel load_kernel(DType element);
// Returns the kernel that rounds and packs 32-bit elements into float16, bfloat16 or int8 elements in memory; for
// every other type it copies 32-bit elements. Never null.
VectorKernel store_kernel(DType element);
// Returns the kernel that runs KernelArgs::fused, a chain of float32 operations, each on the result of the previous
// operation. Intermediate values stay in registers, which saves a load and a store per operation. Never null.
// Requires operations that is_fusible() accepts.
VectorKernel fused_kernel();
// Returns whether fused_kernel() implements the operation on float32: add, sub, mul, div, min, max, neg, abs, sqrt.
bool is_fusible(ir::Op op) noexcept;

// Returns the kernel of a float32 operation or comparison in kernels_arithmetic.cpp; null for any other.
VectorKernel find_arithmetic(ir::Op op, DType type);
// Returns the kernel of an operation on int32, uint32 or boolean (`type`) in kernels_integer.cpp, or of select,
// random or index; null for any other operation.
VectorKernel find_integer(ir::Op op, DType type);
// Returns the kernel of Op::convert from one value type to another; null for any other operation. Requires a pair of
// types that needs code: not equal types, and not int32 and uint32, whose bits stay.
VectorKernel find_conversion(ir::Op op, DType from, DType to);
// Returns the kernel of a float32 function in kernels_math.cpp, such as exp or pow; null for any other operation.
VectorKernel find_math(ir::Op op);

}  // namespace vectis::inline v0_1::vm
