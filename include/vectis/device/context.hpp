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

namespace detail {
struct ContextCore;
struct MemoryCore;
}  // namespace detail

// The state of one device in this process: memory, streams, events and programs are created in a context. A handle:
// copies share the context, which lives until the last object created in it is destroyed. Thread-safe.
class VECTIS_API DeviceContext {
 public:
  // Throws BackendCreation when the driver cannot create a context, DeviceLost when the device is gone.
  explicit DeviceContext(const Device& device);
  explicit DeviceContext(std::shared_ptr<detail::ContextCore> core) noexcept : core_(std::move(core)) {}

  // The device on which the context was created.
  [[nodiscard]] Device device() const;
  // True once any call on this context has thrown DeviceLost: from then on every call throws it. A new context may
  // work.
  [[nodiscard]] bool lost() const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::ContextCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ContextCore> core_;
};

// One allocation of the device's driver, without pooling; MemoryPool (memory layer) pools them. A handle: the memory is
// freed with its last copy, after the work already enqueued on it has finished. Thread-safe.
class VECTIS_API DeviceMemory {
 public:
  // Uninitialized bytes. Throws InvalidInput for 0 bytes or more than DeviceLimits::allocation_bytes_max, Allocation
  // when the driver is out of memory.
  DeviceMemory(const DeviceContext& context, std::uint64_t bytes);

  // A part of this memory, usable as a DeviceMemory of its own, that keeps the whole alive. `offset` must be a multiple
  // of DeviceLimits::memory_alignment. Throws InvalidInput for an empty part, one that exceeds the memory or a wrong
  // offset, Unsupported when the backend has no slices (see can_slice).
  [[nodiscard]] DeviceMemory slice(std::uint64_t offset, std::uint64_t bytes) const;
  // Whether the backend of the context supports slices.
  [[nodiscard]] static bool can_slice(const DeviceContext& context) noexcept;

  // The size that was requested.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  // The context in which the memory was allocated.
  [[nodiscard]] DeviceContext context() const;
  // The host address of the memory on devices with unified memory; null on others.
  [[nodiscard]] std::byte* address() const;

  [[nodiscard]] const std::shared_ptr<detail::MemoryCore>& core() const noexcept { return core_; }

 private:
  explicit DeviceMemory(std::shared_ptr<detail::MemoryCore> core) noexcept : core_(std::move(core)) {}
  std::shared_ptr<detail::MemoryCore> core_;
};

}  // namespace vectis::inline v0_1
