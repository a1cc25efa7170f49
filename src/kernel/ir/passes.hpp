// Passes over functions that are not part of the public API.
#pragma once

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Dead code elimination: removes instructions, loops and carried values that no output depends on. Inputs, tables and
// arguments stay.
Function eliminate_dead_code(const Function& function);

bool uses_index(const Function& function) noexcept;

// Appends a uint32 argument that is added to every `index`, so that a map over [first, first + count) can run as one
// over [0, count).
Function shift_index(const Function& function);

}  // namespace vectis::inline v0_1::ir
