// A context on a device, and memory allocated in it.
//
//   DeviceContext context(device);
//   DeviceMemory memory(context, bytes.size());
//   Stream stream(context);
//   stream.copy_to_device(memory, 0, bytes);
//   stream.synchronize();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "vectis/base/export.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1 {

struct MemoryStats;  // of the memory layer

namespace detail {
struct ContextCore;
struct MemoryCore;
}  // namespace detail

// The state of one device in this process, in which memory, streams, events and programs are created. A handle:
// copies share the context, which lives until the last object created in it is destroyed. Once a call has thrown
// DeviceLost, every later call on the context does. Must be destroyed before its Runtime. Thread-safe.
class VECTIS_API DeviceContext {
 public:
  // Creates a context on `device`, whose Runtime must outlive it. Throws BackendCreation when the driver cannot
  // create a context, DeviceLost when the device is gone, Forked in a child process forked after the Runtime was
  // made.
  explicit DeviceContext(const Device& device);
  // Makes a handle of an existing context; for the device layer itself. `core` must not be null. Does not throw.
  explicit DeviceContext(std::shared_ptr<detail::ContextCore> core) noexcept : core_(std::move(core)) {}

  // Returns the device on which the context was created, valid as long as its Runtime.
  [[nodiscard]] Device device() const;
  // Returns true once any call on this context has thrown DeviceLost: from then on every call on it throws
  // DeviceLost, while a new context may work. Does not throw.
  [[nodiscard]] bool lost() const noexcept;

  // Returns the counters of the Runtime's memory pool on this device, and the device's memory. Allocations beside the
  // pool (DeviceMemory) are not counted. Include <vectis/memory.hpp>, which defines MemoryStats, to call it. Throws
  // Forked in a child process.
  [[nodiscard]] MemoryStats memory_stats() const;

  // Returns the shared state behind the handle; for the layers of Vectis itself. Does not throw.
  [[nodiscard]] const std::shared_ptr<detail::ContextCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ContextCore> core_;
};

// One allocation of the device's driver, without pooling; MemoryPool (memory layer) pools them. A handle: the memory
// is freed with its last copy, after the work already enqueued on it has finished. Allocating throws Allocation when
// the device is out of memory. Thread-safe.
class VECTIS_API DeviceMemory {
 public:
  // Allocates `bytes` uninitialized bytes in `context`. Throws InvalidInput for 0 bytes or more than
  // DeviceLimits::allocation_bytes_max, Allocation when the driver is out of memory, DeviceLost when the context is
  // lost.
  DeviceMemory(const DeviceContext& context, std::uint64_t bytes);

  // Returns the `bytes` bytes from `offset` on as a DeviceMemory of its own that keeps the whole alive. Throws
  // InvalidInput for 0 bytes, a range that exceeds the memory, or an `offset` that is not a multiple of
  // DeviceLimits::memory_alignment; Unsupported when the backend has no slices (see can_slice); DeviceLost when the
  // context is lost.
  [[nodiscard]] DeviceMemory slice(std::uint64_t offset, std::uint64_t bytes) const;
  // Returns whether the backend of `context` supports slices; if false, slice() throws Unsupported. Does not throw.
  [[nodiscard]] static bool can_slice(const DeviceContext& context) noexcept;

  // Returns the size in bytes that was requested, for a slice the size of the slice. Does not throw.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // Returns the context in which the memory was allocated.
  [[nodiscard]] DeviceContext context() const;
  // Returns the host address of the memory, valid as long as the memory, on devices with unified memory; null on
  // others. Synchronize the streams that write the memory before reading it. Throws DeviceLost when the context is
  // lost, Forked in a child process.
  [[nodiscard]] std::byte* address() const;

  // Returns the shared state behind the handle; for the layers of Vectis itself. Does not throw.
  [[nodiscard]] const std::shared_ptr<detail::MemoryCore>& core() const noexcept { return core_; }

 private:
  explicit DeviceMemory(std::shared_ptr<detail::MemoryCore> core) noexcept : core_(std::move(core)) {}
  std::shared_ptr<detail::MemoryCore> core_;
};

}  // namespace vectis::inline v0_1
