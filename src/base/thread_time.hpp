// The time that a thread ran.
#pragma once

#include <cstdint>

namespace vectis::inline v0_1 {

// Returns the nanoseconds that the calling thread has run on a CPU, from an arbitrary zero. Unlike those of
// monotonic_nanoseconds they do not grow while other threads have the CPU. Thread-safe, does not throw.
std::uint64_t thread_nanoseconds() noexcept;

}  // namespace vectis::inline v0_1
