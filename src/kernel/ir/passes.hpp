// Passes over functions that are not part of the public API.
#pragma once

#include "vectis/kernel/ir.hpp"

namespace vectis::inline v0_1::ir {

// Dead code elimination: returns the function without the instructions, loops and loop-carried values that no output
// depends on. Inputs, tables and arguments stay. Requires a function that verify() accepts; does not check it.
Function eliminate_dead_code(const Function& function);

// Returns whether the function has an `index` instruction, dead ones included. Does not throw.
bool uses_index(const Function& function) noexcept;

// Returns the function with one more uint32 argument, last, which is added to every `index`: a map over
// [first, first + count) runs as one over [0, count) with the argument `first`. Requires a function that verify()
// accepts; does not check it.
Function shift_index(const Function& function);

}  // namespace vectis::inline v0_1::ir
