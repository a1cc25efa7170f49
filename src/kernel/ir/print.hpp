// Several functions as one text, so that many small kernels are one run of the compiler.
#pragma once

#include <span>
#include <string>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Kernels of OpenCL C, CUDA C++ or HIP C++ with distinct names; GLSL and WGSL take one function.
std::string print_module(std::span<const Function> functions, Dialect dialect, std::uint32_t group);

}  // namespace vectis::inline v0_1::ir
