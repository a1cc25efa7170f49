// Whether operations of this thread record gradients.
#pragma once

#include "array/node.hpp"

namespace vectis::inline v0_1::array {

// Returns true when operations that depend on `tape` are recorded for it by this thread: it is open, and was opened
// after the thread's NoGradient, if it has one. Of joined tapes, when both are recorded for.
[[nodiscard]] bool is_recording(const Tape& tape) noexcept;

}  // namespace vectis::inline v0_1::array
