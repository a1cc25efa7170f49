// The structs behind the contract's handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api.hpp"
#include "backends/plugin/devices.hpp"
#include "byte_kernels.hpp"
#include "command_recorder.hpp"
#include "gpu.hpp"
#include "pipeline.hpp"
#include "shader_interface.hpp"
#include "staging.hpp"
#include "vectis/device/backend.h"

namespace vectis::webgpu {

struct ListedAdapter {
  Owned<WGPUAdapter> adapter;
  std::string name;
  std::string vendor;
  std::string driver;
  std::string api;  // "Vulkan", "Metal", "Direct3D 12", "OpenGL"
  WGPUBackendType backend = WGPUBackendType_Undefined;
  WGPUAdapterType type = WGPUAdapterType_Unknown;
  std::uint64_t pci_id = 0;  // vendor and device id of the physical device
  WGPULimits limits{};       // requested when a device is created
};

// Fills state.instance and state.adapters. The setting `api` (vulkan, metal, dx12, gl, all) selects the graphics APIs;
// without it every physical device is listed once, and OpenGL is used only when no other API offers a device. Throws
// INVALID_INPUT for an unknown value, BACKEND_CREATION with the reason NO_DRIVER when no adapter is usable.
void find_adapters(VectisBackendState& state);

}  // namespace vectis::webgpu

struct VectisBackendState {
  vectis::webgpu::Host host;
  vectis::webgpu::Api api;
  vectis::webgpu::Owned<WGPUInstance> instance;
  std::vector<vectis::webgpu::ListedAdapter> adapters;
  std::mutex mutex;
  std::vector<VectisContext*> contexts;  // all that exist; guarded by mutex
};

struct VectisContext {
  VectisContext(VectisBackendState& owner, std::uint32_t device, const vectis::webgpu::ListedAdapter& adapter)
      : state(owner),
        index(device),
        gpu(owner.api, adapter.adapter.get(), adapter.limits),
        bind_groups(gpu),
        staging(gpu),
        byte_kernels(gpu) {}

  VectisBackendState& state;
  std::uint32_t index;
  vectis::webgpu::Gpu gpu;
  vectis::webgpu::BindGroups bind_groups;
  vectis::webgpu::StagingBuffers staging;
  vectis::webgpu::ByteKernels byte_kernels;
};

struct VectisMemory {
  VectisContext& context;
  std::shared_ptr<const vectis::webgpu::DeviceBuffer> buffer;  // shared with all slices
  std::uint64_t offset;
  std::uint64_t bytes;
  bool is_slice;

  // All of it, rounded up to whole words.
  [[nodiscard]] vectis::webgpu::BoundBuffer bound() const noexcept {
    return {buffer.get(), offset, vectis::plugin::round_up_to_word(bytes)};
  }
};

struct VectisStream {
  VectisContext& context;
  vectis::webgpu::CommandRecorder recorder;
};

struct VectisEvent {
  VectisContext& context;
  std::atomic<std::uint64_t> submission{0};  // the stream's last one when the event was recorded; 0: never recorded
};

struct VectisProgram {
  VectisContext& context;
  vectis::webgpu::Owned<WGPUShaderModule> module;
  vectis::webgpu::ShaderInterface interface;
};

struct VectisKernel {
  VectisContext& context;
  vectis::webgpu::Pipeline pipeline;
};
