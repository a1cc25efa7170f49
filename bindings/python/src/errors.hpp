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

}  // namespace vectis::python
