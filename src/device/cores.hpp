// The state behind the handles of the device layer. Each core keeps its parent alive and destroys its own handle, so
// children are always destroyed before parents.
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

// An opened backend. `slots` is a copy of the plug-in's table, truncated or zero-padded to this host's size.
struct BackendCore {
  Runtime& runtime;
  VectisBackend slots;
  HostServices host;
  VectisBackendState* state = nullptr;
  std::atomic<StreamObserver*> observer{nullptr};  // null: none; otherwise lives as long as the Runtime
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
  std::atomic<std::byte*> staging{nullptr};  // pinned buffer cached between copies staged through the host

  explicit ContextCore(std::shared_ptr<const DeviceCore> owner) : device(std::move(owner)) {}
  ContextCore(const ContextCore&) = delete;
  ContextCore& operator=(const ContextCore&) = delete;
  ~ContextCore() {
    if (std::byte* kept = staging.load()) slots().host_free(handle, kept);
    if (handle != nullptr) slots().context_destroy(handle);
  }

  [[nodiscard]] const VectisBackend& slots() const noexcept { return device->backend->slots; }
};

// A handle created in a context and destroyed by the slot `Destroy`.
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

// First base of MemoryCore, so that the whole allocation outlives the handle of its slice.
struct SliceParent {
  std::shared_ptr<MemoryCore> whole;  // the allocation a slice is part of; null for an allocation of its own
};

struct MemoryCore : SliceParent, OwnedHandle<VectisMemory, &VectisBackend::memory_free> {
  explicit MemoryCore(std::shared_ptr<ContextCore> owner) : OwnedHandle(std::move(owner)) {}
  explicit MemoryCore(const std::shared_ptr<MemoryCore>& of) : SliceParent{of}, OwnedHandle(of->context) {}
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in `whole`
};

// The first failure of enqueued work of a stream, shared with the events recorded on it. Thread-safe.
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

// State a higher layer attaches to a stream: the kernel layer's cache of prepared calls.
struct StreamExtension {
  StreamExtension() = default;
  StreamExtension(const StreamExtension&) = delete;
  StreamExtension& operator=(const StreamExtension&) = delete;
  virtual ~StreamExtension() = default;
};

// A base of StreamCore, so that the kernels of prepared calls outlive the stream's work.
struct StreamExtensionOwner {
  mutable std::unique_ptr<StreamExtension> extension;  // one thread at a time, like the stream
};

struct StreamCore : StreamExtensionOwner, OwnedHandle<VectisStream, &VectisBackend::stream_destroy> {
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

// First base of KernelCore, so that the program outlives the handle of its kernel.
struct KernelParent {
  std::shared_ptr<ProgramCore> program;
};

struct KernelCore : KernelParent, OwnedHandle<VectisKernel, &VectisBackend::kernel_destroy> {
  KernelCore(const std::shared_ptr<ProgramCore>& owner, std::string entry)
      : KernelParent{owner}, OwnedHandle(owner->context), entry_point(std::move(entry)) {}
  std::string entry_point;
};

// Pinned host memory of the context's backend (defined in transfer.cpp). Null when the backend offers none or is out of
// it; throws for any other failure.
std::byte* allocate_pinned(ContextCore& context, std::uint64_t bytes);
void free_pinned(const ContextCore& context, std::byte* pinned) noexcept;

// Records the event behind all work enqueued on the stream so far (defined in stream.cpp). For callers that hold only
// the stream's core: the pool releases buffers after their Stream was moved. Called by the thread that uses the stream.
void record_event(const StreamCore& stream, EventCore& event);

}  // namespace vectis::inline v0_1::detail
