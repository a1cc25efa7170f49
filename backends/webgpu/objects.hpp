// What is behind the contract's handles.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api.hpp"
#include "backends/plugin/host.hpp"
#include "bind_groups.hpp"
#include "bytes.hpp"
#include "gpu.hpp"
#include "interface.hpp"
#include "owned.hpp"
#include "recorder.hpp"
#include "staging.hpp"
#include "vectis/device/backend.h"

namespace vectis::webgpu {

using plugin::Host;

struct ListedAdapter {
  Owned<WGPUAdapter> adapter;
  std::string name;
  std::string vendor;
  std::string driver;
  std::string api;  // "Vulkan", "Metal", "Direct3D 12", "OpenGL"
  WGPUBackendType backend = WGPUBackendType_Undefined;
  WGPUAdapterType type = WGPUAdapterType_Unknown;
  std::uint64_t identity = 0;  // of the physical device: vendor's and device's number
  WGPULimits limits{};         // what is asked for when it is opened
};

}  // namespace vectis::webgpu

struct VectisBackendState {
  vectis::webgpu::Host host;
  vectis::webgpu::Api api;
  vectis::webgpu::Owned<WGPUInstance> instance;
  std::vector<vectis::webgpu::ListedAdapter> adapters;
  std::mutex mutex;
  std::vector<VectisContext*> contexts;  // open ones; guarded by mutex
};

struct VectisContext {
  VectisContext(VectisBackendState& owner, std::uint32_t number, const vectis::webgpu::ListedAdapter& adapter)
      : state(owner),
        index(number),
        gpu(owner.api, adapter.adapter.get(), adapter.limits),
        groups(gpu),
        staging(gpu),
        bytes(gpu) {}

  VectisBackendState& state;
  std::uint32_t index;
  vectis::webgpu::Gpu gpu;
  vectis::webgpu::BindGroups groups;
  vectis::webgpu::StagingBuffers staging;
  vectis::webgpu::ByteKernels bytes;
};

struct VectisMemory {
  VectisContext& context;
  std::shared_ptr<const vectis::webgpu::DeviceBuffer> buffer;  // a slice has its whole's
  std::uint64_t offset;
  std::uint64_t bytes;
  bool slice;

  // All of it, in whole words.
  [[nodiscard]] vectis::webgpu::BoundBuffer bound() const noexcept;
};

struct VectisStream {
  VectisContext& context;
  vectis::webgpu::Recorder recorder;
};

struct VectisEvent {
  VectisContext& context;
  std::atomic<std::uint64_t> place{0};  // of the queue's order that was reached at the last record; 0: never recorded
};

struct VectisProgram {
  VectisContext& context;
  vectis::webgpu::Owned<WGPUShaderModule> module;
  vectis::webgpu::Interface interface;
};

struct VectisKernel {
  VectisContext& context;
  vectis::webgpu::Pipeline pipeline;
};
