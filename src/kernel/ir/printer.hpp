// Prints several functions as one module, so that many small kernels need one run of the compiler.
#pragma once

#include <span>
#include <string>

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Returns the source text of one kernel per function in a dialect, with work-groups of `group` work-items. Requires
// functions that verify() accepts, with distinct names, `group` at least 1, and a single function for GLSL and WGSL.
// Nothing is checked: otherwise the text does not compile, or the behavior is undefined.
std::string print_module(std::span<const Function> functions, Dialect dialect, std::uint32_t group);

}  // namespace vectis::inline v0_1::ir
