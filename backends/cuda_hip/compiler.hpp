// The run-time compiler of kernels: NVRTC or hipRTC.
#pragma once

#include <string>
#include <string_view>

#include "api.hpp"
#include "vendor.hpp"

namespace vectis::cuda_hip {

// The run-time compiler of kernels (NVRTC or hipRTC), or the reason why there is none. Call functions of `api` only
// when `obstacle` is empty.
struct Compiler {
  CompilerApi api;
  std::string obstacle = "it was not searched for";  // why it cannot be used; empty: it can
  std::string advice;                                // what to do about an obstacle
};

// Opens the library that the setting `compiler` names, or the first of compiler_libraries(), in the loader's path or
// one of library_places(), whose code a driver of this version runs. Does not throw Failure: the result's `obstacle`
// says why no library can be used and where it was searched for.
Compiler find_compiler(const Host& host, int driver_version);

// Does nothing when `code` is compiler_ok; otherwise throws Failure with VECTIS_DRIVER_FAILURE, the name `call`, the
// compiler's message and the code. Precondition: `compiler` is loaded.
void check_compiler(const CompilerApi& compiler, CompilerCode code, const char* call);

// The result of a compilation: machine code or PTX, and the compiler's warnings, empty without any.
struct CompiledCode {
  std::string code;
  std::string warnings;
};

// Compiles `text`. `options` are separated by blanks; one that names an architecture replaces the target's.
// Preconditions: the compiler has no obstacle, and the device's context is current. Throws Failure:
// VECTIS_COMPILE_FAILED with the compiler's output when it rejects the text or an option, otherwise
// VECTIS_DRIVER_FAILURE.
CompiledCode compile(const CompilerApi& compiler, const CompileTarget& target, std::string_view text,
                     const char* options);

}  // namespace vectis::cuda_hip
