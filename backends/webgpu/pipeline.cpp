#include "pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <vector>

#include "error_scope.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::size_t bind_groups_max = 2048;  // the cache is emptied when it reaches this size

WGPUBindGroupEntry entry_of(std::uint32_t binding, WGPUBuffer buffer, std::uint64_t offset, std::uint64_t bytes) {
  WGPUBindGroupEntry entry{};
  entry.binding = binding;
  entry.buffer = buffer;
  entry.offset = offset;
  entry.size = bytes;
  return entry;
}

Owned<WGPUShaderModule> make_module(Gpu& gpu, WGPUChainedStruct* source) {
  WGPUShaderModuleDescriptor descriptor{};
  descriptor.nextInChain = source;
  const Api& api = gpu.api();
  gpu.check();
  ErrorScope scope(gpu);
  Owned<WGPUShaderModule> created(api.DeviceCreateShaderModule(gpu.device(), &descriptor), api.ShaderModuleRelease);
  try {
    scope.check("", VECTIS_COMPILE_FAILED);
  } catch (const Failure& failure) {
    if (failure.status() != VECTIS_COMPILE_FAILED) throw;
    throw Failure(VECTIS_COMPILE_FAILED, describe_shader_error(failure.what()));
  }
  return created;
}

// Scalars have a dynamic offset: where their launch lies in the stream's buffer of scalars.
WGPUBindGroupLayoutEntry layout_entry(const Binding& binding) {
  WGPUBindGroupLayoutEntry entry{};
  entry.binding = binding.number;
  entry.visibility = WGPUShaderStage_Compute;
  entry.buffer.type = binding.uniform ? WGPUBufferBindingType_Uniform : WGPUBufferBindingType_Storage;
  entry.buffer.hasDynamicOffset = binding.uniform ? WGPU_TRUE : WGPU_FALSE;
  return entry;
}

Owned<WGPUBindGroupLayout> make_layout(Gpu& gpu, const ShaderInterface& interface) {
  std::vector<WGPUBindGroupLayoutEntry> entries;
  std::transform(interface.bindings.begin(), interface.bindings.end(), std::back_inserter(entries), layout_entry);
  WGPUBindGroupLayoutDescriptor descriptor{};
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  return {gpu.api().DeviceCreateBindGroupLayout(gpu.device(), &descriptor), gpu.api().BindGroupLayoutRelease};
}

Owned<WGPUComputePipeline> make_compute(Gpu& gpu, WGPUShaderModule module, WGPUBindGroupLayout layout,
                                        const std::string& name) {
  const Api& api = gpu.api();
  WGPUPipelineLayoutDescriptor layouts{};
  layouts.bindGroupLayoutCount = 1;
  layouts.bindGroupLayouts = &layout;
  const Owned<WGPUPipelineLayout> pipeline_layout(api.DeviceCreatePipelineLayout(gpu.device(), &layouts),
                                                  api.PipelineLayoutRelease);
  WGPUComputePipelineDescriptor descriptor{};
  descriptor.layout = pipeline_layout.get();
  descriptor.compute.module = module;
  descriptor.compute.entryPoint = text_view(name);
  return {api.DeviceCreateComputePipeline(gpu.device(), &descriptor), api.ComputePipelineRelease};
}

std::string names_of(const ShaderInterface& interface) {
  std::string names;
  for (const EntryPoint& entry : interface.entries) names += (names.empty() ? "" : ", ") + entry.name;
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

Pipeline make_pipeline(Gpu& gpu, WGPUShaderModule module, const ShaderInterface& interface, const std::string& name) {
  const auto entry = std::find_if(interface.entries.begin(), interface.entries.end(),
                                  [&](const EntryPoint& each) { return each.name == name; });
  if (entry == interface.entries.end()) {
    throw Failure(VECTIS_INVALID_INPUT,
                  "the program has no entry point '" + name + "', it has: " + names_of(interface));
  }
  const std::uint32_t shared_max = gpu.limits().maxComputeWorkgroupStorageSize;
  if (interface.shared_bytes() > shared_max) {
    throw Failure(VECTIS_COMPILE_FAILED, "the workgroup variables take " + std::to_string(interface.shared_bytes()) +
                                             " bytes, the device's limit is " + std::to_string(shared_max));
  }
  Pipeline created;
  created.name = name;
  created.serial = next_serial();
  created.storage_count = interface.storage_count();
  created.has_scalars = interface.has_uniform();
  created.block = entry->block;
  gpu.check();
  ErrorScope scope(gpu);
  created.layout = make_layout(gpu, interface);
  created.pipeline = make_compute(gpu, module, created.layout.get(), name);
  scope.check("", VECTIS_COMPILE_FAILED);
  return created;
}

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::size_t BindGroups::KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = key.size();
  for (const std::uint64_t part : key) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32U;
  }
  return hash;
}

std::shared_ptr<BindGroup> BindGroups::find(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                            const DeviceBuffer& scalars, std::uint64_t scalar_bytes) {
  const std::lock_guard lock(mutex_);
  key_.assign({pipeline.serial, scalars.serial, scalar_bytes});
  for (const BoundBuffer& bound : buffers) key_.insert(key_.end(), {bound.buffer->serial, bound.offset, bound.bytes});
  if (const auto found = groups_.find(key_); found != groups_.end()) return found->second;
  std::shared_ptr<BindGroup> created = make(pipeline, buffers, scalars, scalar_bytes);
  if (groups_.size() >= bind_groups_max) groups_.clear();
  return groups_.emplace(key_, std::move(created)).first->second;
}

std::shared_ptr<BindGroup> BindGroups::make(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                            const DeviceBuffer& scalars, std::uint64_t scalar_bytes) {
  std::vector<WGPUBindGroupEntry> entries;
  entries.reserve(buffers.size() + 1);
  std::uint32_t binding = 0;
  for (const BoundBuffer& bound : buffers) {
    entries.push_back(entry_of(binding++, bound.buffer->buffer.get(), bound.offset, bound.bytes));
  }
  if (scalar_bytes > 0) entries.push_back(entry_of(binding, scalars.buffer.get(), 0, scalar_bytes));
  WGPUBindGroupDescriptor descriptor{};
  descriptor.layout = pipeline.layout.get();
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  const Api& api = gpu_.api();
  auto created = std::make_shared<BindGroup>();
  ErrorScope scope(gpu_);
  created->group = Owned<WGPUBindGroup>(api.DeviceCreateBindGroup(gpu_.device(), &descriptor), api.BindGroupRelease);
  scope.check("the arguments do not fit the kernel '" + pipeline.name + "'", VECTIS_INVALID_INPUT);
  return created;
}

void BindGroups::forget(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [serial](const auto& entry) {
    const Key& key = entry.first;
    if (key[0] == serial || key[1] == serial) return true;
    for (std::size_t part = 3; part < key.size(); part += 3) {
      if (key[part] == serial) return true;
    }
    return false;
  });
}

}  // namespace vectis::webgpu
