// Time points and durations of executors, and the real monotonic clock.
#pragma once

#include <chrono>
#include <cstdint>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

using Duration = std::chrono::nanoseconds;

// The clock of one Executor: nanoseconds since the executor was made, real or simulated. It has no now(): ask
// Executor::now(). Time points of two executors must not be compared.
struct ExecutorClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ExecutorClock>;
  static constexpr bool is_steady = true;
};

using TimePoint = ExecutorClock::time_point;

// Nanoseconds of std::chrono::steady_clock: never decreases, starts at an arbitrary zero. For measuring real hardware;
// code that waits uses its Executor's clock, which a simulation controls. Thread-safe, never fails.
VECTIS_API std::uint64_t monotonic_nanoseconds() noexcept;

}  // namespace vectis::inline v0_1
