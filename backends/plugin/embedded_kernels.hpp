// Built-in kernels that were compiled when Vectis was built and are embedded in a plug-in. The plug-in finds one by the
// hash of the source text that the host prints, so that no compiler is needed at run time. vectis-spirv and vectis-ptx
// (apps/) write the C++ files that hold the tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace vectis::plugin {

// FNV-1a of a kernel's source text.
constexpr std::uint64_t source_hash(std::string_view source) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : source) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

template <class Code>
struct EmbeddedKernel {
  std::uint64_t source;  // source_hash of its source text
  Code code;
};

// The kernel compiled from `source`, or null. The table is sorted by hash.
template <class Code>
const EmbeddedKernel<Code>* find_kernel(std::span<const EmbeddedKernel<Code>> table, std::string_view source) noexcept {
  const std::uint64_t hash = source_hash(source);
  const auto found = std::ranges::lower_bound(table, hash, {}, &EmbeddedKernel<Code>::source);
  return found == table.end() || found->source != hash ? nullptr : &*found;
}

}  // namespace vectis::plugin

namespace vectis::webgpu {

// SPIR-V of glslc with the entry point `main`, made from GLSL.
using SpirvKernel = plugin::EmbeddedKernel<std::span<const std::uint32_t>>;

std::span<const SpirvKernel> embedded_kernels();

}  // namespace vectis::webgpu

namespace vectis::cuda_hip {

// PTX of NVRTC, made from CUDA C++; NUL-terminated.
using PtxKernel = plugin::EmbeddedKernel<const char*>;

struct PtxKernels {
  std::span<const PtxKernel> table;  // empty when Vectis was built without NVRTC
  std::string_view options;          // the compiler options all were compiled with
  int architecture;                  // the oldest compute capability that runs them: 70 is sm_70
};

PtxKernels embedded_kernels();

}  // namespace vectis::cuda_hip
