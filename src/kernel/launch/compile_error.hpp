// Where in the user's text a compiler found an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

struct CompilerError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // 0: the compiler does not say
  std::string message;

  bool operator==(const CompilerError&) const = default;
};

// The first error in a compiler's output: "file:3:7: error: text" (clang), "error: file:3:7: text" (PoCL),
// "file:3: error: text" (glslc) or "file(3): error: text" (NVRTC). With `file`, the first one there if there is one.
std::optional<CompilerError> first_error(std::string_view output, std::string_view file = {});

// CompileFailed in terms of the kernel: its lines, if the compiler names them, and the whole output as detail. `file`
// is what the body's lines are called; "<file>.functions" are its helper functions.
Error explain_compile_error(const Error& error, std::string_view kernel, std::string_view file);

}  // namespace vectis::inline v0_1::detail
