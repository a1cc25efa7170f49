// What a pool knows about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vectis::inline v0_1 {

struct MemoryUsage {
  std::uint64_t allocated_bytes = 0;  // held of the device, live and cached
  std::uint64_t peak_bytes = 0;
};

struct TagUsage {
  std::string tag;
  std::uint64_t live_buffers = 0;
  std::uint64_t live_bytes = 0;  // asked for
  std::uint64_t peak_bytes = 0;
};

struct MemoryStats {
  std::uint64_t limit_bytes = 0;
  std::uint64_t reserved_bytes = 0;   // held of the device: in use + cached
  std::uint64_t in_use_bytes = 0;     // in live buffers, as allocated
  std::uint64_t requested_bytes = 0;  // in live buffers, as asked for
  std::uint64_t cached_bytes = 0;     // held and not in use
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t peak_in_use_bytes = 0;
  std::uint64_t largest_free_bytes = 0;  // the largest piece in the cache
  double fragmentation = 0;              // 1 - largest piece / all cached bytes; 0 when nothing is cached
  std::uint64_t segments = 0;
  std::uint64_t live_buffers = 0;
  std::uint64_t allocations = 0;  // buffers given out so far
  std::uint64_t hits = 0;         // of those, from the cache, without asking the device
  std::uint64_t device_allocations = 0;
  std::uint64_t device_frees = 0;
  std::uint64_t cleanups = 0;
  std::uint64_t failures = 0;
  std::vector<TagUsage> tags;  // of named allocations only

  [[nodiscard]] double hit_rate() const noexcept {
    return allocations == 0 ? 0.0 : static_cast<double>(hits) / static_cast<double>(allocations);
  }
};

}  // namespace vectis::inline v0_1
