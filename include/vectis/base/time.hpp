// Time as an Executor tells it. No clock lives here: a simulated executor invents its own.
#pragma once

#include <chrono>

namespace vectis::inline v0_1 {

using Duration = std::chrono::nanoseconds;

// Nanoseconds since the executor's own beginning. Points of two executors do not compare.
struct ExecutorClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ExecutorClock>;
  static constexpr bool is_steady = true;
};

using TimePoint = ExecutorClock::time_point;

}  // namespace vectis::inline v0_1
