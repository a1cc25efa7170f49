// The built-in kernels as SPIR-V, made by glslc when Vectis was built (spirv/CMakeLists.txt), found by their text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace vectis::webgpu {

struct BuiltinKernel {
  std::uint64_t text;          // text_hash of the GLSL that the host prints
  const std::uint32_t* words;  // its module; the entry point is `main`
  std::size_t count;
};

// By ascending hash.
std::span<const BuiltinKernel> builtin_kernels();

// FNV-1a.
constexpr std::uint64_t text_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace vectis::webgpu
