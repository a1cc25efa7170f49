// Time points and durations of executors, and the real monotonic clock.
#pragma once

#include <chrono>
#include <cstdint>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

using Duration = std::chrono::nanoseconds;

// The clock of an Executor: nanoseconds since the executor was made, real or simulated. Has no now(): call
// Executor::now(). Time points of two executors must not be compared.
struct ExecutorClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ExecutorClock>;
  static constexpr bool is_steady = true;
};

using TimePoint = ExecutorClock::time_point;

// Returns the nanoseconds of std::chrono::steady_clock, which never decreases and starts at an arbitrary zero. For
// measuring real hardware; code that waits must use its Executor's clock, which a simulation controls. Thread-safe,
// does not throw.
VECTIS_API std::uint64_t monotonic_nanoseconds() noexcept;

// Blocks the calling thread for `duration` of real time; returns at once for 0 or less. For polling real hardware that
// cannot be waited for with a deadline; code that waits for other code must use its Executor. Thread-safe, does not
// throw.
VECTIS_API void pause_thread(Duration duration) noexcept;

}  // namespace vectis::inline v0_1
