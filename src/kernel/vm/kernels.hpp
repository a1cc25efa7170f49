// The vector instructions of the CPU executor: each a loop over a block of 32-bit elements, one compiled for every
// instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::executor {

// No vector is longer, and every block is a multiple of it.
inline constexpr std::size_t lanes_max = 64;

// A link of a chain: the value so far, `a`, becomes a op b, b op a, a op a or op a.
struct Link {
  enum class Form : std::uint8_t { operand_last, operand_first, twice, alone };
  ir::Op op = ir::Op::add;
  Form form = Form::operand_last;
  const float* operand = nullptr;  // b
  std::size_t stride = 0;
};

// One use of an instruction. Values of type bool are all ones or zero. An operand whose stride is 0 is one vector of
// `lanes_max` equal elements for the whole block; otherwise it is 1. `out` may be an operand's own memory.
struct Call {
  std::array<const void*, 3> in{};
  std::array<std::size_t, 3> stride{};
  void* out = nullptr;
  const void* table = nullptr;  // gather
  std::uint64_t number = 0;     // gather: elements of the table; index: the number of the first element
  std::span<const Link> links;  // chain
  bool streams = false;         // chain: stores go past the caches where `out` is aligned to a vector
};

// `count` is a multiple of the vector's lanes.
using Kernel = void (*)(const Call& call, std::size_t count);

// The instruction for an operation whose first operand is of type `from`. Null for operations that move nothing
// (constants, arguments, bit casts, the parts of loops).
Kernel find_kernel(ir::Op op, DType from, DType to);
Kernel gather_kernel(DType element);
// Between packed elements in memory and 32-bit elements; f32, i32 and u32 are copied.
Kernel load_kernel(DType element);
Kernel store_kernel(DType element);
// Several simple operations of f32 in a row, each of the one before: the values between them stay in registers, which
// saves a load and a store each.
Kernel chain_kernel();
bool can_be_linked(ir::Op op) noexcept;

// Of the single files; null when the operation is another's.
Kernel find_arithmetic(ir::Op op, DType type);
Kernel find_integer(ir::Op op, DType type);
Kernel find_conversion(ir::Op op, DType from, DType to);
Kernel find_function(ir::Op op);

}  // namespace vectis::inline v0_1::executor
