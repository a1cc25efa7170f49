// Which language a kernel is printed in for a device, and compiler errors in terms of the user's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "vectis/base/error.hpp"
#include "vectis/device/device.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// Who wrote a kernel. Hand-written kernels are printed in all dialects but wgsl, generated ones in every dialect.
// glsl-webgpu is compiled when Vectis is built and never at run time, so a user's kernel is not printed in it.
enum class KernelOrigin : std::uint8_t { built_in, users, generated };

// The first of the device's languages that kernels of this origin are printed in; empty if there is none.
VECTIS_API std::optional<Dialect> printed_dialect(const DeviceInfo& info, KernelOrigin origin);

struct CompilerError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // 0: unknown
  std::string message;

  bool operator==(const CompilerError&) const = default;
};

// The first error in a compiler's output: "file:3:7: error: text" (clang), "error: file:3:7: text" (PoCL),
// "file:3: error: text" (glslc) or "file(3): error: text" (NVRTC). With `file`, the first error in that file if there
// is one.
std::optional<CompilerError> first_error(std::string_view output, std::string_view file = {});

// CompileFailed in terms of the kernel: its lines, if the compiler names them, and the whole output as detail. `file`
// is what the body's lines are called; "<file>.functions" are its helper functions.
Error explain_compile_error(const Error& error, std::string_view kernel, std::string_view file);

}  // namespace vectis::inline v0_1::detail
