// Loops over elements of one type for single functions, compiled for each instruction set.
#pragma once

#include <cstddef>

#include "array/element_function.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::array {

// The operands of a loop: where their elements are, and whether one element stands for all.
struct KernelOperand {
  const std::byte* data = nullptr;
  bool is_uniform = false;
};

// Computes `count` elements from one to three operands, not all of them uniform.
using ElementKernel = void (*)(const KernelOperand* operands, std::byte* out, std::size_t count);

// Returns the loop of `op` for operands of `type` (of `where`, the type of what is chosen), or null: then the kernel IR
// or wide arithmetic compute it, with the same results up to rounding. Comparisons write bool. `convert` has none.
ElementKernel element_kernel(ElementOp op, DType type) noexcept;
// Returns the loop that converts elements, or null.
ElementKernel conversion_kernel(DType from, DType to) noexcept;

}  // namespace vectis::inline v0_1::array
