#include "pipeline.hpp"

#include <algorithm>
#include <vector>

#include "bind_groups.hpp"
#include "trap.hpp"

namespace vectis::webgpu {

namespace {

Owned<WGPUShaderModule> make_module(Gpu& gpu, WGPUChainedStruct* source) {
  WGPUShaderModuleDescriptor wanted{};
  wanted.nextInChain = source;
  const Api& api = gpu.api();
  gpu.check();
  Trap trap(gpu);
  Owned made(api.DeviceCreateShaderModule(gpu.device(), &wanted), api.ShaderModuleRelease);
  trap.check("", VECTIS_COMPILE_FAILED);
  return made;
}

// Scalars are bound at the offset their launch was given in the stream's block.
WGPUBindGroupLayoutEntry layout_entry(const DeclaredBinding& binding) {
  WGPUBindGroupLayoutEntry entry{};
  entry.binding = binding.number;
  entry.visibility = WGPUShaderStage_Compute;
  entry.buffer.type = binding.uniform ? WGPUBufferBindingType_Uniform : WGPUBufferBindingType_Storage;
  entry.buffer.hasDynamicOffset = binding.uniform ? WGPU_TRUE : WGPU_FALSE;
  return entry;
}

Owned<WGPUBindGroupLayout> make_layout(Gpu& gpu, const Interface& interface) {
  std::vector<WGPUBindGroupLayoutEntry> entries;
  std::transform(interface.bindings.begin(), interface.bindings.end(), std::back_inserter(entries), layout_entry);
  WGPUBindGroupLayoutDescriptor wanted{};
  wanted.entryCount = entries.size();
  wanted.entries = entries.data();
  return {gpu.api().DeviceCreateBindGroupLayout(gpu.device(), &wanted), gpu.api().BindGroupLayoutRelease};
}

Owned<WGPUComputePipeline> make_compute(Gpu& gpu, WGPUShaderModule module, WGPUBindGroupLayout layout,
                                        const std::string& name) {
  const Api& api = gpu.api();
  WGPUPipelineLayoutDescriptor layouts{};
  layouts.bindGroupLayoutCount = 1;
  layouts.bindGroupLayouts = &layout;
  const Owned whole(api.DeviceCreatePipelineLayout(gpu.device(), &layouts), api.PipelineLayoutRelease);
  WGPUComputePipelineDescriptor wanted{};
  wanted.layout = whole.get();
  wanted.compute.module = module;
  wanted.compute.entryPoint = text_view(name);
  return {api.DeviceCreateComputePipeline(gpu.device(), &wanted), api.ComputePipelineRelease};
}

std::string names_of(const Interface& interface) {
  std::string names;
  for (const DeclaredEntry& entry : interface.entries) names += (names.empty() ? "" : ", ") + entry.name;
  return names.empty() ? "none" : names;
}

}  // namespace

Owned<WGPUShaderModule> make_module(Gpu& gpu, const std::string& wgsl) {
  WGPUShaderSourceWGSL source{{nullptr, WGPUSType_ShaderSourceWGSL}, text_view(wgsl)};
  return make_module(gpu, &source.chain);
}

Owned<WGPUShaderModule> make_module(Gpu& gpu, std::span<const std::uint32_t> spirv) {
  WGPUShaderSourceSPIRV source{
      {nullptr, WGPUSType_ShaderSourceSPIRV}, static_cast<std::uint32_t>(spirv.size()), spirv.data()};
  return make_module(gpu, &source.chain);
}

Pipeline make_pipeline(Gpu& gpu, WGPUShaderModule module, const Interface& interface, const std::string& name) {
  const auto entry = std::find_if(interface.entries.begin(), interface.entries.end(),
                                  [&](const DeclaredEntry& each) { return each.name == name; });
  if (entry == interface.entries.end()) {
    throw Failure(VECTIS_INVALID_INPUT,
                  "the program has no entry point '" + name + "', it has: " + names_of(interface));
  }
  const std::uint32_t shared_max = gpu.limits().maxComputeWorkgroupStorageSize;
  if (interface.shared_bytes() > shared_max) {
    throw Failure(VECTIS_COMPILE_FAILED, "the work-group's variables have " + std::to_string(interface.shared_bytes()) +
                                             " bytes, the device's limit of shared memory is " +
                                             std::to_string(shared_max));
  }
  Pipeline made;
  made.name = name;
  made.serial = next_serial();
  made.storage_count = interface.storage_count();
  made.has_scalars = interface.has_uniform();
  made.group = entry->group;
  gpu.check();
  Trap trap(gpu);
  made.layout = make_layout(gpu, interface);
  made.pipeline = make_compute(gpu, module, made.layout.get(), name);
  trap.check("", VECTIS_COMPILE_FAILED);
  return made;
}

}  // namespace vectis::webgpu
