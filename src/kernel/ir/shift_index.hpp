// A map done in parts: each begins at another element.
#pragma once

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

bool uses_index(const Function& function) noexcept;

// The function with one more argument, of u32, behind the others: what every `index` is raised by.
Function shift_index(const Function& function);

}  // namespace vectis::inline v0_1::ir
