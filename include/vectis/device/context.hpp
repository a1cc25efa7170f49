// A device made ready for use: its memory, streams, events and programs.
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

// A handle; copies share one context, which lives until the last thing made from it is gone. Thread-safe.
class VECTIS_API DeviceContext {
 public:
  // BackendCreation when the device refuses, DeviceLost when it is gone.
  explicit DeviceContext(const Device& device);
  explicit DeviceContext(std::shared_ptr<detail::ContextCore> core) noexcept : core_(std::move(core)) {}

  [[nodiscard]] Device device() const;
  // True once any call said DeviceLost: every later call on this context says so at once. A new context may work.
  [[nodiscard]] bool lost() const noexcept;

  [[nodiscard]] const std::shared_ptr<detail::ContextCore>& core() const noexcept { return core_; }

 private:
  std::shared_ptr<detail::ContextCore> core_;
};

// Bytes on a device, freed with the last copy of the handle; work already enqueued still finds them. This is the bare
// driver's allocation: pooling and limits are the memory layer's. Thread-safe.
class VECTIS_API DeviceMemory {
 public:
  // InvalidInput for zero bytes or more than the device's largest allocation, Allocation when the driver has no more.
  DeviceMemory(const DeviceContext& context, std::uint64_t bytes);

  // A part of it that goes wherever a memory goes and keeps the whole alive. `offset` is a multiple of the device's
  // memory_alignment. InvalidInput for an empty part or one that does not fit, Unsupported where memory cannot be cut.
  [[nodiscard]] DeviceMemory slice(std::uint64_t offset, std::uint64_t bytes) const;
  // Whether this device cuts memory.
  [[nodiscard]] static bool can_slice(const DeviceContext& context) noexcept;

  [[nodiscard]] std::uint64_t bytes() const noexcept;
  [[nodiscard]] DeviceContext context() const;
  // Its address where the host can reach it (unified memory), else null.
  [[nodiscard]] std::byte* address() const;

  [[nodiscard]] const std::shared_ptr<detail::MemoryCore>& core() const noexcept { return core_; }

 private:
  explicit DeviceMemory(std::shared_ptr<detail::MemoryCore> core) noexcept : core_(std::move(core)) {}
  std::shared_ptr<detail::MemoryCore> core_;
};

}  // namespace vectis::inline v0_1
