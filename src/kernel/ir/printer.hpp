// Prints several functions as one module, so that many small kernels need one run of the compiler.
#pragma once

#include <span>
#include <string>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Requires verified functions with distinct names, and a single function for GLSL and WGSL.
std::string print_module(std::span<const Function> functions, Dialect dialect, std::uint32_t group);

}  // namespace vectis::inline v0_1::ir
