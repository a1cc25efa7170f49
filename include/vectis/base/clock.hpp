// The real clock, for timestamps of real hardware. What waits asks its Executor instead.
#pragma once

#include <cstdint>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Never goes backwards; its zero is the system's own. Thread-safe.
VECTIS_API std::uint64_t monotonic_nanoseconds() noexcept;

}  // namespace vectis::inline v0_1
