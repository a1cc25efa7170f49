// The allocators that a log is replayed against, behind one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vectis/base/runtime.hpp"
#include "vectis/device/context.hpp"
#include "vectis/memory/resource.hpp"

namespace vectis::app {

// An allocator that a log is replayed against. Holds at most one buffer per slot; the destructor releases all
// buffers. One thread at a time.
class ReplayAllocator {
 public:
  ReplayAllocator() = default;
  ReplayAllocator(const ReplayAllocator&) = delete;
  ReplayAllocator& operator=(const ReplayAllocator&) = delete;
  virtual ~ReplayAllocator() = default;

  // Returns the name in reports: "pool", "device" or "best fit".
  [[nodiscard]] virtual std::string name() const = 0;
  // Allocates a buffer into `slot`, which must be empty and below the number of slots. Throws InvalidInput for a size
  // beyond the device's largest allocation, and Allocation when memory is short.
  virtual void allocate(std::size_t slot, const MemoryRequest& request) = 0;
  // Releases the buffer in `slot`, which must hold one.
  virtual void release(std::size_t slot) = 0;
  // Releases the buffers of all slots that hold one.
  virtual void release_all() = 0;

  [[nodiscard]] virtual std::uint64_t allocated_bytes() const = 0;  // in live buffers
  [[nodiscard]] virtual std::uint64_t peak_bytes() const = 0;       // high-water mark of device memory held
  [[nodiscard]] virtual std::uint64_t device_allocations() const = 0;
};

// Makes the memory pool, plain device allocation and best fit, in this order, each empty and with `slots` slots.
// `runtime` must own the device of `context` and outlive the allocators. Throws the device's own error when the pool
// cannot open it.
std::vector<std::unique_ptr<ReplayAllocator>> make_allocators(Runtime& runtime, const DeviceContext& context,
                                                              std::size_t slots);

}  // namespace vectis::app
