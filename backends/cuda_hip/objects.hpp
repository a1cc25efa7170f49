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

// A device that the backend lists: its driver id, its compute capability, its architecture, and how kernels are
// compiled for it.
struct ListedDevice {
  DeviceId id{};
  int major = 0;
  int minor = 0;
  std::string architecture;  // result of architecture_name()
  std::string slice;         // result of slice_id()
  CompileTarget target;      // has an obstacle when nothing can be compiled for the device
};

// Returns whether the device runs any kernel: one compiled at run time, or one embedded in the plug-in. Does not
// throw.
inline bool runs_kernels(const ListedDevice& device) {
  return !device.target.obstacle || has_embedded_kernels(device.major, device.minor);
}

// Retains a device's primary context for the lifetime of this object. `api` must outlive it.
class PrimaryContext {
 public:
  // Retains the primary context of `device`. Throws Failure with the status of the driver's code when the driver
  // cannot create it; never for HIP, which has no contexts.
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

// The streams of a context. Thread-safe.
class LiveStreams {
 public:
  // Adds a stream, which must be removed before it is destroyed. May throw std::bad_alloc.
  void add(VectisStream& stream) {
    const std::lock_guard lock(mutex_);
    streams_.push_back(&stream);
  }

  // Removes a stream; does nothing when it is not in the list. Does not throw.
  void remove(const VectisStream& stream) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, &stream);
  }

  // Waits for the work enqueued before on all streams. Precondition: their context is current. Does not synchronize the
  // context, which other users of the driver in this process share. Ignores failures of the work.
  void wait(const Api& api) noexcept;

 private:
  std::mutex mutex_;
  std::vector<VectisStream*> streams_;  // guarded by mutex_
};

}  // namespace vectis::cuda_hip

// The state of the open CUDA or HIP backend: the driver, its compiler, the listed devices and the vendor's libraries.
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

// A context of the ABI: one device's primary context with its clock. What it refers to belongs to the backend's
// state, which outlives it.
struct VectisContext {
  const vectis::cuda_hip::Api& api;
  const vectis::cuda_hip::Compiler& compiler;
  const vectis::cuda_hip::ListedDevice& device;
  vectis::cuda_hip::LazyBlas& blas_library;
  int driver_version;
  vectis::cuda_hip::PrimaryContext context;
  vectis::cuda_hip::EventClock clock;
  mutable vectis::cuda_hip::LiveStreams streams = {};
  mutable std::mutex blas_mutex = {};
  mutable std::unique_ptr<const vectis::cuda_hip::Blas> blas = {};  // guarded by blas_mutex; created at first use
  mutable std::string blas_failure = {};                            // guarded by blas_mutex; why it cannot be created
};

// Device memory of one context, or a slice, which refers to another memory that must outlive it.
struct VectisMemory {
  const VectisContext& owner;
  vectis::cuda_hip::Address address;
  bool is_slice;
};

// A stream of the driver in one context, which outlives it. One thread at a time uses it.
struct VectisStream {
  const VectisContext& owner;
  vectis::cuda_hip::StreamHandle handle;
  vectis::cuda_hip::Workspace workspace = {};  // of BLAS; empty until its first product, or without memory for it
  bool workspace_requested = false;
  std::atomic<bool> busy = false;  // work was enqueued after the last synchronize
};

// An event of the driver in one context, which outlives it. `recorded` is false until the first record.
struct VectisEvent {
  VectisContext& owner;
  vectis::cuda_hip::EventHandle handle;
  std::atomic<bool> recorded = false;
};

// A module that the driver has loaded in one context, which outlives it, and the code for program_binary.
struct VectisProgram {
  const VectisContext& owner;
  vectis::cuda_hip::ModuleHandle module;
  const char* ptx;   // of an embedded kernel, static; null: a program with code
  std::string code;  // machine code or PTX; of an embedded kernel empty until it is asked for
  std::mutex code_mutex = {};
};

// A kernel of a loaded module with what the driver reports about it. Its program and context outlive it.
struct VectisKernel {
  const VectisContext& owner;
  vectis::cuda_hip::FunctionHandle function;
  std::optional<std::vector<std::size_t>> parameters;  // bytes of each; nothing when the driver does not report them
  std::uint32_t block_items_max;
};

namespace vectis::cuda_hip {

// Creates a handle of the driver in `context` and sets *object to a new Object that owns it. create(api, &handle) calls
// the driver and may throw; `destroy`, a function of the driver, destroys the handle when the Object cannot be
// allocated. Throws Failure, and std::bad_alloc.
template <class Object, class Destroy, class Create>
void create_object(VectisContext& context, Object** object, Destroy Api::* destroy, Create&& create) {
  const CurrentContext current(context.api, context.context.get());
  decltype(Object::handle) handle{};
  create(context.api, &handle);
  UniqueHandle owner(handle, context.api.*destroy);
  *object = std::make_unique<Object>(context, handle).release();
  owner.release();
}

// Runs `body`, the work of a destroy slot, with the owner's context current. Runs `body` a second time when the first
// attempt throws; when both throw, ignores the failure, so that the object leaks until the context is destroyed. Does
// not throw. Precondition: `body` can be repeated.
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
