// A kernel ready to run.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "gpu.hpp"
#include "interface.hpp"
#include "owned.hpp"

namespace vectis::webgpu {

struct Pipeline {
  std::string name;
  std::uint64_t serial = 0;
  std::uint32_t storage_count = 0;
  bool has_scalars = false;
  std::array<std::uint32_t, 3> group{};  // compiled in; 0: unknown
  Owned<WGPUBindGroupLayout> layout;
  Owned<WGPUComputePipeline> pipeline;
};

// Throws COMPILE_FAILED with the compiler's words. `what` names the module in them.
Owned<WGPUShaderModule> make_module(Gpu& gpu, const std::string& wgsl);
Owned<WGPUShaderModule> make_module(Gpu& gpu, std::span<const std::uint32_t> spirv);

// Throws INVALID_INPUT when the module has no such entry point, COMPILE_FAILED with wgpu's words when it is over a
// limit or takes what is neither storage nor scalars.
Pipeline make_pipeline(Gpu& gpu, WGPUShaderModule module, const Interface& interface, const std::string& name);

}  // namespace vectis::webgpu
