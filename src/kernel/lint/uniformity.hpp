// The kernel linter's uniformity analysis: barriers that all work-items of a group provably reach together.
#pragma once

#include <span>
#include <string>

#include "kernel/lint/lint.hpp"

namespace vectis::inline v0_1::detail {

// Reports `barrier` at each BARRIER() and UNIFORM_LOAD() of a kernel body that a condition controls whose value may
// differ between the work-items of a group, and at each one in a helper function. Conditions are those of statements
// and the left operands of &&, || and ?:, also where macros hide them. Work-items may differ in their ids and in what
// they read from buffers and shared arrays; UNIFORM_LOAD() is the same for all. Direct3D's FXC and WGSL's uniformity
// analysis (Tint) refuse such barriers even where all work-items do read the same. A variable is followed through all
// of its assignments, in any order. Malformed text does not throw.
void check_barriers(const KernelSource& source, std::span<const Token> body, const LintReport& report);
// As check_barriers, for the helper functions.
void check_function_barriers(const KernelSource& source, std::span<const Token> functions, const LintReport& report);

}  // namespace vectis::inline v0_1::detail
