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

// Who wrote a kernel. Hand-written kernels (built_in, users) are printed in all dialects but wgsl, generated ones in
// every dialect. glsl-webgpu is compiled when Vectis is built and never at run time, so a user's kernel is not
// printed in it.
enum class KernelOrigin : std::uint8_t { built_in, users, generated };

// Returns the first of the device's dialects in which kernels of this origin are printed; empty if there is none,
// which callers report as NoCompiler.
VECTIS_API std::optional<Dialect> printed_dialect(const DeviceInfo& info, KernelOrigin origin);

// One error in the output of a kernel compiler: the place and the message.
struct CompilerError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;  // 0: unknown
  std::string message;

  bool operator==(const CompilerError&) const = default;
};

// Returns the first error in a compiler's output: "file:3:7: error: text" (clang), "error: file:3:7: text" (PoCL),
// "file:3: error: text" (glslc) or "file(3): error: text" (NVRTC). With `file`, prefers the first error in that file
// or in "<file>.functions". Empty if no line has one of these forms.
std::optional<CompilerError> first_error(std::string_view output, std::string_view file = {});

// Returns a CompileFailed error that names the kernel and the line of its source, with the compiler's whole output,
// error.detail(), as detail. `file` is the file name of the body's lines, "<file>.functions" that of the helper
// functions; empty: any file. If the output names no line, the message is that of `error`.
Error explain_compile_error(const Error& error, std::string_view kernel, std::string_view file);

}  // namespace vectis::inline v0_1::detail
