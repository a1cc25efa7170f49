// What our plug-ins share in creating programs and returning their binaries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::plugin {

// Returns the failure of program_create() for a dialect that the device does not take. `taken` says who takes what:
// "OpenCL takes opencl-c and binary".
inline Failure unsupported_dialect(std::string_view dialect, const std::string& taken) {
  return {VECTIS_UNSUPPORTED, "the dialect is '" + std::string(dialect) + "'; " + taken};
}

// Returns true for the dialect "binary", the result of program_binary(), and false for `language`, the only source
// language that the driver `title` takes. Throws Failure with VECTIS_UNSUPPORTED for any other dialect.
inline bool is_binary(std::string_view dialect, std::string_view language, const char* title) {
  if (dialect == "binary") return true;
  if (dialect == language) return false;
  throw unsupported_dialect(dialect, std::string(title) + " takes " + std::string(language) + " and binary");
}

// Does what program_binary() promises for a binary of `needed` bytes: calls write(), which writes them to `target`,
// unless `target` is null, and sets *bytes to `needed`. Throws Failure with VECTIS_INVALID_INPUT when the capacity
// *bytes is too small, and what write() throws; *bytes is unchanged then.
template <class Write>
void write_binary(std::size_t needed, const void* target, std::size_t* bytes, Write&& write) {
  if (target != nullptr) {
    if (*bytes < needed) {
      throw Failure(VECTIS_INVALID_INPUT,
                    "the binary has " + std::to_string(needed) + " bytes, the buffer has " + std::to_string(*bytes));
    }
    write();
  }
  *bytes = needed;
}

}  // namespace vectis::plugin
