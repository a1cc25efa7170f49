#include "vectis/base/time.hpp"

#include <chrono>
#include <thread>

namespace vectis::inline v0_1 {

std::uint64_t monotonic_nanoseconds() noexcept {
  const auto since_zero = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since_zero).count());
}

void pause_thread(Duration duration) noexcept { std::this_thread::sleep_for(duration); }

}  // namespace vectis::inline v0_1
