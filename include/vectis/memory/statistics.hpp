// Counters of a memory pool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vectis::inline v0_1 {

// The bytes that a memory pool holds from the device, now and at most.
struct MemoryUsage {
  std::uint64_t allocated_bytes = 0;  // held from the device: live and cached
  std::uint64_t peak_bytes = 0;       // high-water mark of allocated_bytes
};

// Live buffers and bytes of one memory tag (Context::with_memory_tag) in the memory pool of one device.
struct TagUsage {
  std::string tag;
  std::uint64_t live_buffers = 0;
  std::uint64_t live_bytes = 0;  // as requested, before rounding
  std::uint64_t peak_bytes = 0;  // high-water mark of live_bytes
};

// The counters of the memory pool of one device since its creation, as MemoryPool::get_memory_stats returns them.
struct MemoryStats {
  std::uint64_t total_bytes = 0;  // memory of the device; 0 where its driver does not report it
  std::uint64_t limit_bytes = 0;
  std::uint64_t reserved_bytes = 0;   // held from the device: in use plus cached
  std::uint64_t in_use_bytes = 0;     // in live buffers, after rounding
  std::uint64_t requested_bytes = 0;  // in live buffers, before rounding
  std::uint64_t cached_bytes = 0;     // held and not in use
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t peak_in_use_bytes = 0;
  std::uint64_t largest_free_bytes = 0;  // longest contiguous cached range: the largest buffer that coalescing can give
  double fragmentation = 0;              // 1 - largest_free_bytes / cached_bytes; 0 when nothing is cached
  std::uint64_t segments = 0;            // device allocations held
  std::uint64_t live_buffers = 0;
  std::uint64_t allocations = 0;  // buffers handed out so far
  std::uint64_t hits = 0;         // allocations served without a device allocation
  std::uint64_t device_allocations = 0;
  std::uint64_t device_frees = 0;
  std::uint64_t cleanups = 0;  // calls that returned the whole cache to the device
  std::uint64_t failures = 0;  // requests that ended in OutOfMemoryError
  std::vector<TagUsage> tags;  // tagged buffers only

  // Returns the share of allocations, 0 to 1, that were served without a device allocation; 0 before the first
  // allocation.
  [[nodiscard]] double hit_rate() const noexcept {
    return allocations == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(allocations);
  }
};

}  // namespace vectis::inline v0_1
