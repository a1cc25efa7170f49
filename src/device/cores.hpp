// What the handles of the device layer point to. Each core keeps its parent alive and destroys its own handle, so that
// children always go before parents.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "device/host.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/backend.h"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::detail {

class StreamObserver;

// An opened backend. `slots` is the plug-in's table cut or padded to the size this host knows.
struct BackendCore {
  Runtime& runtime;
  VectisBackend slots;
  HostServices host;
  VectisBackendState* state = nullptr;
  std::atomic<StreamObserver*> observer{nullptr};  // lives as long as the Runtime once it was set
  std::atomic<std::uint64_t> streams_made{0};

  BackendCore(Runtime& owner, const VectisBackend& table, HostServices::Finder finder)
      : runtime(owner), slots(table), host(owner, table.name, std::move(finder)) {}
  BackendCore(const BackendCore&) = delete;
  BackendCore& operator=(const BackendCore&) = delete;
  ~BackendCore() {
    if (state != nullptr) slots.close(state);
  }
};

struct DeviceCore {
  std::shared_ptr<BackendCore> backend;
  std::uint32_t index = 0;
  int id = 0;
  DeviceInfo info;

  [[nodiscard]] std::string label() const;
};

struct ContextCore {
  std::shared_ptr<const DeviceCore> device;
  VectisContext* handle = nullptr;
  std::atomic<bool> lost{false};
  std::atomic<std::byte*> staging{nullptr};  // pinned, kept between two copies that go through the host

  explicit ContextCore(std::shared_ptr<const DeviceCore> owner) : device(std::move(owner)) {}
  ContextCore(const ContextCore&) = delete;
  ContextCore& operator=(const ContextCore&) = delete;
  ~ContextCore() {
    if (std::byte* kept = staging.load()) slots().host_free(handle, kept);
    if (handle != nullptr) slots().context_destroy(handle);
  }

  [[nodiscard]] const VectisBackend& slots() const noexcept { return device->backend->slots; }
};

// A handle made in a context and destroyed by one of its slots.
template <class Handle, auto Destroy>
struct OwnedHandle {
  std::shared_ptr<ContextCore> context;
  Handle* handle = nullptr;

  explicit OwnedHandle(std::shared_ptr<ContextCore> owner) : context(std::move(owner)) {}
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  ~OwnedHandle() {
    if (handle == nullptr) return;
    if constexpr (requires { (context->slots().*Destroy)(context->handle, handle); }) {
      (context->slots().*Destroy)(context->handle, handle);
    } else {
      (context->slots().*Destroy)(handle);
    }
  }
};

struct MemoryCore;

// Bases, so that they outlive the handle that depends on them.
struct KeptMemory {
  std::shared_ptr<MemoryCore> whole;  // what a slice is part of; null for a memory of its own
};

struct MemoryCore : KeptMemory, OwnedHandle<VectisMemory, &VectisBackend::memory_free> {
  explicit MemoryCore(std::shared_ptr<ContextCore> owner) : OwnedHandle(std::move(owner)) {}
  explicit MemoryCore(const std::shared_ptr<MemoryCore>& of) : KeptMemory{of}, OwnedHandle(of->context) {}
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in `whole`
};

// The first failure of work under way on a stream, shared with the events recorded on it. Thread-safe.
class StickyError {
 public:
  void set(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  void rethrow() const {
    const std::lock_guard lock(mutex_);
    if (error_) throw Error(*error_);
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

struct StreamCore : OwnedHandle<VectisStream, &VectisBackend::stream_destroy> {
  explicit StreamCore(std::shared_ptr<ContextCore> owner)
      : OwnedHandle(std::move(owner)), number(++context->device->backend->streams_made) {}
  std::uint64_t number;  // among all streams of the backend, from 1
  std::shared_ptr<StickyError> sticky = std::make_shared<StickyError>();
};

struct EventCore : OwnedHandle<VectisEvent, &VectisBackend::event_destroy> {
  using OwnedHandle::OwnedHandle;
  std::mutex mutex;
  std::shared_ptr<StickyError> recorded_on;  // guarded by mutex; null: never recorded
};

struct ProgramCore : OwnedHandle<VectisProgram, &VectisBackend::program_destroy> {
  using OwnedHandle::OwnedHandle;
  std::string compiler_output;
};

struct KeptProgram {
  std::shared_ptr<ProgramCore> program;
};

struct KernelCore : KeptProgram, OwnedHandle<VectisKernel, &VectisBackend::kernel_destroy> {
  KernelCore(const std::shared_ptr<ProgramCore>& owner, std::string entry)
      : KeptProgram{owner}, OwnedHandle(owner->context), entry_point(std::move(entry)) {}
  std::string entry_point;
};

}  // namespace vectis::inline v0_1::detail
