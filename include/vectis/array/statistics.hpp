// What arrays have made a device do.
#pragma once

#include <cstdint>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::array {

// Counts of what arrays did on one device since the start. On the CPU only allocations and operations are counted.
struct LaneStatistics {
  std::uint64_t launches = 0;  // generated kernels and named operations
  std::uint64_t copies_to_device = 0;
  std::uint64_t copies_to_host = 0;
  std::uint64_t allocations = 0;  // of memory of the pool
};

// Returns the counts of a device: subtract those of before to count a part of a program. Throws Unsupported for a
// device that arrays do not run on.
[[nodiscard]] VECTIS_API LaneStatistics statistics(const Device& device);

}  // namespace vectis::inline v0_1::array
