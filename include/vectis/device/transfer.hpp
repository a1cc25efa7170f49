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

namespace detail {
class HostBlock;
}  // namespace detail

// Owns host memory for copies to and from a context's device: pinned (page-locked) where the backend offers it, so
// that copies run asynchronously without an intermediate buffer, else pageable. Destroying it or assigning to it waits
// for the copies enqueued on streams that use it, on any device of the same Runtime. Movable. One thread at a time.
class VECTIS_API HostMemory {
 public:
  // Allocates `bytes` uninitialized bytes, pinned if possible; 0 bytes give an empty span. Throws Allocation when the
  // host has no memory left, DeviceLost when the context is lost, Forked in a child process.
  HostMemory(const DeviceContext& context, std::size_t bytes);
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  // Waits for the copies that use the memory, of any stream, and frees it. Does not report their errors: the streams
  // do.
  ~HostMemory();

  // Returns the memory, uninitialized until written; empty after a move. Valid until this object is destroyed or
  // assigned to. Does not throw.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {address_, size_}; }
  // Returns true when the memory is pinned; false when it is pageable or empty. Does not throw.
  [[nodiscard]] bool pinned() const noexcept;

 private:
  std::unique_ptr<detail::HostBlock> block_;
  std::byte* address_ = nullptr;
  std::size_t size_ = 0;
};

// How copy_between() moved the bytes, as it returns it.
enum class CopyRoute : std::uint8_t {
  on_device,  // both memories belong to one context
  peer,       // directly from device to device
  staged,     // through host memory: the call waited for both streams
};

// Copies `bytes` bytes of `source` to `target` by the fastest route and returns the route; ordered after earlier and
// before later work on both streams, which the calling thread must own. Throws InvalidInput when a range exceeds its
// memory, the ranges overlap, or a memory is not of its stream's context; a stream's earlier error; DeviceLost.
VECTIS_API CopyRoute copy_between(Stream& to, const DeviceMemory& target, std::uint64_t target_offset, Stream& from,
                                  const DeviceMemory& source, std::uint64_t source_offset, std::uint64_t bytes);

}  // namespace vectis::inline v0_1
