// The structs behind the contract's handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api.hpp"
#include "backends/plugin/devices.hpp"
#include "byte_kernels.hpp"
#include "command_recorder.hpp"
#include "gpu.hpp"
#include "pci_cards.hpp"
#include "pipeline.hpp"
#include "shader_interface.hpp"
#include "staging.hpp"
#include "vectis/device/backend.h"

namespace vectis::webgpu {

// An adapter of wgpu that the backend lists as a device, and what wgpu reports about it.
struct ListedAdapter {
  Owned<WGPUAdapter> adapter;
  std::string name;
  std::string vendor;
  std::string driver;
  std::string api;  // "Vulkan", "Metal", "Direct3D 12", "OpenGL"
  WGPUBackendType backend = WGPUBackendType_Undefined;
  WGPUAdapterType type = WGPUAdapterType_Unknown;
  std::uint64_t pci_id = 0;  // vendor and device id of the physical device
  MatchedCard card;          // the physical device, where the system lists it
  WGPULimits limits{};       // requested when a device is created
};

// Fills state.instance and state.adapters. The setting `api` (vulkan, metal, dx12, gl, all) selects the graphics
// APIs; by default each physical device is listed once, and OpenGL serves only without another. state.host and
// state.api must be set. Throws Failure: VECTIS_INVALID_INPUT for an invalid setting, VECTIS_BACKEND_CREATION with
// NO_DRIVER when no adapter is usable.
void find_adapters(VectisBackendState& state);

}  // namespace vectis::webgpu

// The state of the open WebGPU backend: wgpu's functions and instance, the listed adapters and all contexts.
struct VectisBackendState {
  vectis::webgpu::Host host;
  vectis::webgpu::Api api;
  vectis::webgpu::Owned<WGPUInstance> instance;
  std::vector<vectis::webgpu::ListedAdapter> adapters;
  std::mutex mutex;
  std::vector<VectisContext*> contexts;  // all that exist; guarded by mutex
};

// A context of the ABI: one WebGPU device with its caches. The backend's state outlives it.
struct VectisContext {
  // Requests a device from the adapter, which is number `device` of the list. Throws Failure with
  // VECTIS_BACKEND_CREATION when the adapter gives none.
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

// Device memory: a range of a buffer that a memory and its slices share. The context outlives it.
struct VectisMemory {
  VectisContext& context;
  std::shared_ptr<const vectis::webgpu::DeviceBuffer> buffer;  // shared with all slices
  std::uint64_t offset;
  std::uint64_t bytes;
  bool is_slice;

  // Returns the whole range of this memory, rounded up to whole 32-bit words, for binding to a kernel. Valid while
  // this memory exists. Does not throw.
  [[nodiscard]] vectis::webgpu::BoundBuffer bound() const noexcept {
    return {buffer.get(), offset, vectis::plugin::round_up_to_word(bytes)};
  }
};

// A stream of the ABI: an order of commands on the device's one queue. One thread at a time uses it.
struct VectisStream {
  VectisContext& context;
  vectis::webgpu::CommandRecorder recorder;
  std::optional<vectis::webgpu::DeviceBuffer> scratch;  // for copies within one buffer; made by the first one
};

// An event of the ABI: the submission after which it has completed. Thread-safe.
struct VectisEvent {
  VectisContext& context;
  std::atomic<std::uint64_t> submission{0};  // the stream's last one when the event was recorded; 0: never recorded
};

// A compiled shader module and the interface that it declares. The context outlives it.
struct VectisProgram {
  VectisContext& context;
  vectis::webgpu::Owned<WGPUShaderModule> module;
  vectis::webgpu::ShaderInterface interface;
};

// A compute pipeline of one entry point of a program. The context outlives it.
struct VectisKernel {
  VectisContext& context;
  vectis::webgpu::Pipeline pipeline;
};
