// Data transfer: pinned host memory, and copies between any two devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1 {

// Host memory for copies to and from the devices of a context's backend. Pinned (page-locked) where the backend offers
// it, so that copies run asynchronously and without an intermediate buffer; pageable memory where it does not or has
// run out of it. Movable. Destroy it only after the streams that use it have been synchronized. One thread at a time.
class VECTIS_API HostMemory {
 public:
  // Uninitialized bytes. Throws std::bad_alloc when the host has no memory left, DeviceLost when the context is lost;
  // 0 bytes give an empty span.
  HostMemory(const DeviceContext& context, std::size_t bytes);
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {address_, size_}; }
  [[nodiscard]] bool pinned() const noexcept { return pageable_ == nullptr && address_ != nullptr; }

 private:
  std::shared_ptr<detail::ContextCore> context_;
  std::unique_ptr<std::byte[]> pageable_;
  std::byte* address_ = nullptr;
  std::size_t size_ = 0;
};

// How copy_between moved the bytes.
enum class CopyRoute : std::uint8_t {
  on_device,  // both memories belong to one context
  peer,       // directly from device to device
  staged,     // through host memory: the call waited for both streams
};

// Copies `bytes` bytes of `source`, a memory of the context of `from`, to `target`, a memory of the context of `to`, by
// the fastest route available, and returns the route. The copy is ordered after earlier work, and before later work, on
// both streams. Both memories may be freed as soon as the call returns. Throws InvalidInput when a range exceeds its
// memory, the ranges overlap, or a memory is not of its stream's context. The calling thread must own both streams.
VECTIS_API CopyRoute copy_between(Stream& to, const DeviceMemory& target, std::uint64_t target_offset, Stream& from,
                                  const DeviceMemory& source, std::uint64_t source_offset, std::uint64_t bytes);

}  // namespace vectis::inline v0_1
