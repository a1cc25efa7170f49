// The structs behind the contract's handles.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api.hpp"
#include "backends/plugin/unique_handle.hpp"
#include "compiler.hpp"
#include "event_clock.hpp"
#include "vectis/device/backend.h"
#include "vendor.hpp"
#include "vendor_libraries.hpp"

namespace vectis::cuda_hip {

using plugin::UniqueHandle;

struct ListedDevice {
  DeviceId id{};
  int major = 0;
  int minor = 0;
  CompileTarget target;  // has an obstacle when nothing can be compiled for the device
};

// Whether the device runs any kernel: compiled at run time or embedded.
inline bool runs_kernels(const ListedDevice& device) {
  return !device.target.obstacle || has_embedded_kernels(device.major, device.minor);
}

// A device's primary context, retained for the lifetime of this object.
class PrimaryContext {
 public:
  PrimaryContext(const Api& api, DeviceId device) : api_(&api), device_(device), handle_(retain_context(api, device)) {}
  ~PrimaryContext() { release_context(*api_, device_); }
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  [[nodiscard]] ContextHandle get() const noexcept { return handle_; }

 private:
  const Api* api_;
  DeviceId device_;
  ContextHandle handle_;
};

}  // namespace vectis::cuda_hip

struct VectisBackendState {
  vectis::cuda_hip::Host host;
  vectis::cuda_hip::Api api;
  int driver_version = 0;
  vectis::cuda_hip::Compiler compiler;
  std::vector<vectis::cuda_hip::ListedDevice> devices;
  vectis::cuda_hip::LazyBlas blas_library = vectis::cuda_hip::LazyBlas(host);
  std::mutex monitor_mutex = {};
  std::unique_ptr<const vectis::cuda_hip::Monitor> monitor = {};  // guarded by monitor_mutex; opened at first use
};

struct VectisContext {
  const vectis::cuda_hip::Api& api;
  const vectis::cuda_hip::Compiler& compiler;
  const vectis::cuda_hip::ListedDevice& device;
  vectis::cuda_hip::LazyBlas& blas_library;
  vectis::cuda_hip::PrimaryContext context;
  vectis::cuda_hip::EventClock clock;
  mutable std::mutex blas_mutex = {};
  mutable std::unique_ptr<const vectis::cuda_hip::Blas> blas = {};  // guarded by blas_mutex; created at first use
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
  std::string code;  // machine code or PTX; empty: an embedded kernel
};

struct VectisKernel {
  const VectisContext& owner;
  vectis::cuda_hip::FunctionHandle function;
  std::optional<std::vector<std::size_t>> parameters;  // bytes of each; nothing when the driver does not report them
  std::uint32_t block_items_max;
};

namespace vectis::cuda_hip {

// Runs the body of a destroy slot, which cannot fail, with the context current. Tries twice; if the driver fails both
// times, the object is leaked until the context is destroyed.
template <class Body>
void in_context(const VectisContext& owner, Body&& body) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      const CurrentContext current(owner.api, owner.context.get());
      body();
      return;
    } catch (...) {
      continue;
    }
  }
}

}  // namespace vectis::cuda_hip
