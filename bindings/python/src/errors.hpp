// Errors that the module itself finds.
#pragma once

#include <string>
#include <string_view>

#include "vectis/base/error.hpp"

namespace vectis::python {

// Throws InvalidInput, which names the call `op`.
[[noreturn]] inline void throw_invalid_input(std::string_view op, const std::string& message) {
  throw Error(ErrorCode::invalid_input, op, message);
}

// Sets the Python exception of an error. A call that Ctrl-C cancelled ends with what the signal's handler raises
// (KeyboardInterrupt), unless the handler raises nothing. Needs the GIL.
void set_exception(const Error& error);

}  // namespace vectis::python
