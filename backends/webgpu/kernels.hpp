// The built-in kernels as SPIR-V, made by glslc when Vectis was built (spirv/CMakeLists.txt), found by their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vectis::webgpu {

struct BuiltinKernel {
  std::uint64_t text;          // plugin::text_hash of the GLSL that the host prints
  const std::uint32_t* words;  // its module; the entry point is `main`
  std::size_t count;
};

// By ascending hash.
std::span<const BuiltinKernel> builtin_kernels();

}  // namespace vectis::webgpu
