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

// Holds at most one buffer per slot; the destructor releases all. One thread at a time.
class ReplayAllocator {
 public:
  ReplayAllocator() = default;
  ReplayAllocator(const ReplayAllocator&) = delete;
  ReplayAllocator& operator=(const ReplayAllocator&) = delete;
  virtual ~ReplayAllocator() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  virtual void allocate(std::size_t slot, const MemoryRequest& request) = 0;
  virtual void release(std::size_t slot) = 0;
  virtual void release_all() = 0;

  [[nodiscard]] virtual std::uint64_t allocated_bytes() const = 0;  // in live buffers
  [[nodiscard]] virtual std::uint64_t peak_bytes() const = 0;       // high-water mark of device memory held
  [[nodiscard]] virtual std::uint64_t device_allocations() const = 0;
};

// The pool, plain device allocation and best fit, each empty.
std::vector<std::unique_ptr<ReplayAllocator>> make_allocators(Runtime& runtime, const DeviceContext& context,
                                                              std::size_t slots);

}  // namespace vectis::app
