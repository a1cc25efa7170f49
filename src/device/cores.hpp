// The state behind the handles of the device layer. Each core keeps its parent alive and destroys its own handle, so
// children are always destroyed before parents. In a child process forked later nothing is destroyed: the driver's
// threads stay in the parent, so that a destroy slot which waits for enqueued work would wait forever.
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
#include "vectis/base/os.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/backend.h"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::detail {

class HostBlocks;
class StreamObserver;

// Returns the HostBlocks of `runtime`, made at the first call; valid as long as the Runtime.
HostBlocks& host_blocks(Runtime& runtime);

// An opened backend; the destructor closes it. `slots` is a copy of the plug-in's table, truncated or zero-padded to
// this host's size. `state` is null until the slot `open` succeeded. `runtime` must outlive this object.
struct BackendCore {
  Runtime& runtime;
  VectisBackend slots;
  HostServices host;
  HostBlocks& blocks;  // of the Runtime: the memory of every HostMemory
  VectisBackendState* state = nullptr;
  std::atomic<StreamObserver*> observer{nullptr};  // null: none; otherwise lives as long as the Runtime
  std::atomic<std::uint64_t> streams_made{0};
  const std::uint64_t generation = fork_generation();  // of the process that opened the backend

  // Copies `table`, which check_table() must have accepted, and makes the host services; does not call the slot
  // `open`. `owner` must outlive this object.
  BackendCore(Runtime& owner, const VectisBackend& table, HostServices::Finder finder)
      : runtime(owner), slots(table), host(owner, table.name, std::move(finder)), blocks(host_blocks(owner)) {}
  BackendCore(const BackendCore&) = delete;
  BackendCore& operator=(const BackendCore&) = delete;
  ~BackendCore() {
    if (state != nullptr && !forked()) slots.close(state);
  }

  // Returns whether this process is a child forked after the backend was opened, which must call no slot. Does not
  // throw.
  [[nodiscard]] bool forked() const noexcept { return fork_generation() != generation; }
};

// The state behind a Device: its backend, its index in the backend, its id in the Runtime and its description.
struct DeviceCore {
  std::shared_ptr<BackendCore> backend;
  std::uint32_t index = 0;
  int id = 0;
  DeviceInfo info;

  // Returns the name of the backend and the index of the device in it, such as "opencl:0".
  [[nodiscard]] std::string label() const;
};

// The state behind a DeviceContext; the destructor destroys the context and its cached staging buffer. `handle` is
// null until the slot context_create succeeded. `lost` is set when a call returns VECTIS_DEVICE_LOST.
struct ContextCore {
  std::shared_ptr<const DeviceCore> device;
  VectisContext* handle = nullptr;
  std::atomic<bool> lost{false};
  std::atomic<std::byte*> staging{nullptr};  // pinned buffer cached between copies staged through the host

  explicit ContextCore(std::shared_ptr<const DeviceCore> owner) : device(std::move(owner)) {}
  ContextCore(const ContextCore&) = delete;
  ContextCore& operator=(const ContextCore&) = delete;
  ~ContextCore() {
    if (forked()) return;
    if (std::byte* kept = staging.load()) slots().host_free(handle, kept);
    if (handle != nullptr) slots().context_destroy(handle);
  }

  // Returns the slots of the context's backend; optional slots may be NULL. Valid as long as this object. Does not
  // throw.
  [[nodiscard]] const VectisBackend& slots() const noexcept { return device->backend->slots; }
  // Returns whether this process is a child forked after the backend was opened. Does not throw.
  [[nodiscard]] bool forked() const noexcept { return device->backend->forked(); }
};

// Owns a handle created in a context, which it keeps alive; the destructor destroys the handle with the slot
// `Destroy`. `handle` is null until the creating slot succeeded, and is then not destroyed.
template <class Handle, auto Destroy>
struct OwnedHandle {
  std::shared_ptr<ContextCore> context;
  Handle* handle = nullptr;

  explicit OwnedHandle(std::shared_ptr<ContextCore> owner) : context(std::move(owner)) {}
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  ~OwnedHandle() {
    if (handle == nullptr || context->forked()) return;
    if constexpr (requires { (context->slots().*Destroy)(context->handle, handle); }) {
      (context->slots().*Destroy)(context->handle, handle);
    } else {
      (context->slots().*Destroy)(handle);
    }
  }
};

struct MemoryCore;

// Keeps alive the allocation that a slice is part of. The first base of MemoryCore, so that the allocation is
// destroyed after the handle of its slice.
struct SliceParent {
  std::shared_ptr<MemoryCore> whole;  // the allocation a slice is part of; null for an allocation of its own
};

// The state behind a DeviceMemory: an allocation, or a slice of one that `whole` keeps alive.
struct MemoryCore : SliceParent, OwnedHandle<VectisMemory, &VectisBackend::memory_free> {
  // Makes the state of an allocation of `owner`, still without a handle.
  explicit MemoryCore(std::shared_ptr<ContextCore> owner) : OwnedHandle(std::move(owner)) {}
  // Makes the state of a slice of `of`, which must not be a slice itself, still without a handle.
  explicit MemoryCore(const std::shared_ptr<MemoryCore>& of) : SliceParent{of}, OwnedHandle(of->context) {}
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in `whole`
};

// The first failure of enqueued work of a stream, shared with the events recorded on it: every later call on the
// stream throws it. Thread-safe.
class StickyError {
 public:
  // Stores `error` unless an earlier one is stored: the first failure stays.
  void set(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  [[nodiscard]] bool is_set() const {
    const std::lock_guard lock(mutex_);
    return error_.has_value();
  }
  // Throws a copy of the stored error; does nothing when none is stored.
  void rethrow() const {
    const std::lock_guard lock(mutex_);
    if (error_) throw Error(*error_);
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

// Base of the state that a higher layer attaches to a stream: the kernel layer's cache of prepared calls. Destroyed
// with the stream.
struct StreamExtension {
  StreamExtension() = default;
  StreamExtension(const StreamExtension&) = delete;
  StreamExtension& operator=(const StreamExtension&) = delete;
  virtual ~StreamExtension() = default;
};

// Owns the StreamExtension of a stream. A base of StreamCore, so that the kernels of prepared calls are destroyed
// after the stream's handle and its work.
struct StreamExtensionOwner {
  mutable std::unique_ptr<StreamExtension> extension;  // one thread at a time, like the stream
};

// Exists exactly as long as its stream, so that a weak_ptr to it expires with the stream. Only the stream may own it.
struct StreamLife {};

// The state behind a Stream: its handle, its number among all streams of the backend, and its first error. The
// destructor waits for the enqueued work, so that the work of a stream that is gone has finished. One thread at a
// time.
struct StreamCore : StreamExtensionOwner, OwnedHandle<VectisStream, &VectisBackend::stream_destroy> {
  explicit StreamCore(std::shared_ptr<ContextCore> owner)
      : OwnedHandle(std::move(owner)), number(++context->device->backend->streams_made) {}
  StreamCore(const StreamCore&) = delete;
  StreamCore& operator=(const StreamCore&) = delete;
  ~StreamCore();
  std::uint64_t number;  // among all streams of the backend, from 1
  std::shared_ptr<StickyError> sticky = std::make_shared<StickyError>();
  std::shared_ptr<const StreamLife> life = std::make_shared<const StreamLife>();
};

// The state behind an Event: its handle and the error state of the stream on which it was last recorded.
struct EventCore : OwnedHandle<VectisEvent, &VectisBackend::event_destroy> {
  using OwnedHandle::OwnedHandle;
  std::mutex mutex;
  std::shared_ptr<StickyError> recorded_on;  // guarded by mutex; null: never recorded
};

// The state behind a Program: its handle and the compiler's warnings.
struct ProgramCore : OwnedHandle<VectisProgram, &VectisBackend::program_destroy> {
  using OwnedHandle::OwnedHandle;
  std::string compiler_output;
};

// Keeps alive the program of a kernel. The first base of KernelCore, so that the program is destroyed after the
// handle of its kernel.
struct KernelParent {
  std::shared_ptr<ProgramCore> program;
};

// The state behind an EntryPoint: the kernel's handle and name, and its program, which it keeps alive.
struct KernelCore : KernelParent, OwnedHandle<VectisKernel, &VectisBackend::kernel_destroy> {
  KernelCore(const std::shared_ptr<ProgramCore>& owner, std::string entry)
      : KernelParent{owner}, OwnedHandle(owner->context), entry_point(std::move(entry)) {}
  std::string entry_point;
};

// Allocates `bytes` bytes of pinned host memory of the context's backend, to be freed by free_pinned(). Returns null
// when the backend offers none or is out of it. Throws DeviceLost when the context is lost, Forked in a child
// process, else the driver's error.
std::byte* allocate_pinned(ContextCore& context, std::uint64_t bytes);
// Frees `pinned`, a result of allocate_pinned() for the same context that is not null. Work of other contexts that
// uses the memory must have finished. Does nothing in a child process. Does not throw.
void free_pinned(const ContextCore& context, std::byte* pinned) noexcept;

// Records `event` behind all work enqueued on `stream` so far, for callers that hold only the stream's core; only the
// thread that uses the stream may call it. Throws InvalidInput when the event is of another context, the error of
// earlier work on the stream when it failed, DeviceLost when the context is lost, Forked in a child process.
void record_event(const StreamCore& stream, EventCore& event);

}  // namespace vectis::inline v0_1::detail
