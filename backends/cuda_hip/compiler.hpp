// The run-time compiler of kernels: NVRTC or hipRTC.
#pragma once

#include <string>
#include <string_view>

#include "api.hpp"
#include "vendor.hpp"

namespace vectis::cuda_hip {

struct Compiler {
  CompilerApi api;
  std::string obstacle = "it was not searched for";  // why it cannot be used; empty: it can
};

// Opens the library that the setting `compiler` names, or the first of compiler_libraries that serves a driver of this
// version. The result has an obstacle when there is none.
Compiler find_compiler(const Host& host, int driver_version);

// Throws DRIVER_FAILURE with the call's name, the compiler's message for the code, and the code, unless it is success.
void check_compiler(const CompilerApi& compiler, CompilerCode code, const char* call);

struct CompiledCode {
  std::string code;
  std::string warnings;
};

// Compiles `text`. `options` are separated by blanks; one that names an architecture replaces the target's. Throws
// COMPILE_FAILED with the compiler's output. Precondition: the device's context is current.
CompiledCode compile(const CompilerApi& compiler, const CompileTarget& target, std::string_view text,
                     const char* options);

}  // namespace vectis::cuda_hip
