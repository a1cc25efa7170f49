// Built-in kernels that were compiled when Vectis was built and are embedded in a plug-in. The plug-in finds one by the
// hash of the source text that the host prints, so that no compiler is needed at run time. vectis-spirv and vectis-ptx
// (apps/) write the C++ files that hold the tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace vectis::plugin {

// Returns the 64-bit FNV-1a hash of a kernel's source text, by which an embedded kernel is found. Does not throw.
constexpr std::uint64_t source_hash(std::string_view source) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : source) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3U;
  }
  return hash;
}

// A built-in kernel that was compiled when Vectis was built: the hash of its source text, and its code.
template <class Code>
struct EmbeddedKernel {
  std::uint64_t source;  // source_hash of its source text
  Code code;
};

// Returns the kernel of `table` that was compiled from exactly the text `source`, or null when there is none. Does
// not throw. Precondition: the table is sorted by hash.
template <class Code>
const EmbeddedKernel<Code>* find_kernel(std::span<const EmbeddedKernel<Code>> table, std::string_view source) noexcept {
  const std::uint64_t hash = source_hash(source);
  const auto found = std::ranges::lower_bound(table, hash, {}, &EmbeddedKernel<Code>::source);
  return found == table.end() || found->source != hash ? nullptr : &*found;
}

}  // namespace vectis::plugin

namespace vectis::webgpu {

// A kernel as SPIR-V with the entry point `main`, which glslc compiled from GLSL.
using SpirvKernel = plugin::EmbeddedKernel<std::span<const std::uint32_t>>;

// Returns the kernels embedded in the WebGPU plug-in, sorted by source_hash. The table is static.
std::span<const SpirvKernel> embedded_kernels();

}  // namespace vectis::webgpu

namespace vectis::cuda_hip {

// A kernel as NUL-terminated PTX, which NVRTC compiled from CUDA C++.
using PtxKernel = plugin::EmbeddedKernel<const char*>;

// The kernels embedded in the CUDA plug-in, sorted by source_hash, and what they were compiled for.
struct PtxKernels {
  std::span<const PtxKernel> table;  // empty when Vectis was built without NVRTC
  std::span<const PtxKernel> newer;  // some of them again, with instructions that only newer devices have
  std::string_view options;          // the compiler options all were compiled with
  int architecture;                  // the oldest compute capability that runs most of them: 70 is sm_70
  int newer_architecture;            // the oldest one that runs those of `newer`
};

// Returns the kernels embedded in the CUDA plug-in; an empty table when Vectis was built without NVRTC. The memory is
// static.
PtxKernels embedded_kernels();

}  // namespace vectis::cuda_hip
