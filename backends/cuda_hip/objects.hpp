// What is behind the contract's handles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/plugin/host.hpp"
#include "blas.hpp"
#include "clock.hpp"
#include "compiler.hpp"
#include "driver.hpp"
#include "monitor.hpp"
#include "owned.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

using plugin::Host;

struct ListedDevice {
  DeviceId id{};
  int major = 0;
  int minor = 0;
  Target target;  // with an obstacle when nothing can be compiled for it
};

inline bool runs_kernels(const ListedDevice& device) {
  return !device.target.obstacle || carries_kernels(device.major, device.minor);
}

}  // namespace vectis::cuda_hip

struct VectisBackendState {
  vectis::cuda_hip::Host host;
  vectis::cuda_hip::Api api;
  int driver_version = 0;
  vectis::cuda_hip::Compiler compiler;
  std::vector<vectis::cuda_hip::ListedDevice> devices;
  vectis::cuda_hip::BlasSource blas_source = vectis::cuda_hip::BlasSource(host);
  std::mutex monitor_mutex = {};
  std::unique_ptr<const vectis::cuda_hip::Monitor> monitor = {};  // guarded; made when it is first asked for
};

struct VectisContext {
  const vectis::cuda_hip::Api& api;
  const vectis::cuda_hip::Compiler& compiler;
  const vectis::cuda_hip::ListedDevice& device;
  vectis::cuda_hip::BlasSource& blas_source;
  vectis::cuda_hip::SharedContext context;
  vectis::cuda_hip::Clock clock;
  mutable std::mutex blas_mutex = {};
  mutable std::unique_ptr<const vectis::cuda_hip::Blas> blas = {};  // guarded; made when it is first needed
};

struct VectisMemory {
  const VectisContext& owner;
  vectis::cuda_hip::Address address;
  bool is_slice;
};

struct VectisStream {
  const VectisContext& owner;
  vectis::cuda_hip::StreamHandle handle;
};

struct VectisEvent {
  VectisContext& owner;
  vectis::cuda_hip::EventHandle handle;
  std::atomic<bool> recorded = false;
};

struct VectisProgram {
  const VectisContext& owner;
  vectis::cuda_hip::ModuleHandle module;
  std::string code;  // empty when it travels with the plug-in
};

struct VectisKernel {
  const VectisContext& owner;
  vectis::cuda_hip::FunctionHandle function;
  std::optional<std::vector<std::size_t>> parameters;  // bytes of each; nothing where the driver cannot say
  std::uint32_t group_items_max;
};
