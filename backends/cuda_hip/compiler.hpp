// The compiler for text given at run time: NVRTC or hipRTC.
#pragma once

#include <string>
#include <string_view>

#include "api.hpp"
#include "own.hpp"

namespace vectis::cuda_hip {

struct Compiler {
  CompilerApi api;
  std::string obstacle = "it was not looked for";  // why it cannot be used; empty: it can
};

// The library the setting `compiler` names, or the newest that serves a driver of this version.
Compiler find_compiler(const Host& host, int driver_version);

// Throws DRIVER_FAILURE with the call's name, the compiler's words for the code, and the code.
void check_compiler(const CompilerApi& compiler, CompilerCode code, const char* call);

struct Compiled {
  std::string code;
  std::string warnings;
};

// Throws COMPILE_FAILED with what the compiler said. The device's context is current.
Compiled compile(const CompilerApi& compiler, const Target& target, std::string_view text, const char* options);

}  // namespace vectis::cuda_hip
