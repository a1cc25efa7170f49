#include "vectis/base/time.hpp"

#include <chrono>
#include <ctime>
#include <thread>

#include "base/thread_time.hpp"

namespace vectis::inline v0_1 {

std::uint64_t monotonic_nanoseconds() noexcept {
  const auto since_zero = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_zero).count());
}

std::uint64_t thread_nanoseconds() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void pause_thread(Duration duration) noexcept { std::this_thread::sleep_for(duration); }

}  // namespace vectis::inline v0_1
