#include "vectis/base/time.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/thread_time.hpp"

namespace vectis {
namespace {

TEST(Clock, NeverDecreasesAndFollowsRealTime) {
  const std::uint64_t begin = monotonic_nanoseconds();
  std::uint64_t last = begin;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = monotonic_nanoseconds();
    ASSERT_GE(now, last);
    last = now;
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(monotonic_nanoseconds() - begin, 2000000U);
}

TEST(Clock, APauseLastsAtLeastItsTime) {
  const std::uint64_t begin = monotonic_nanoseconds();
  pause_thread(std::chrono::milliseconds(2));
  EXPECT_GE(monotonic_nanoseconds() - begin, 2000000U);
  pause_thread(Duration::zero());
  pause_thread(Duration::min());
}

TEST(Clock, TheTimeOfAThreadStandsStillWhileItSleeps) {
  const std::uint64_t begin = thread_nanoseconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::uint64_t after_sleep = thread_nanoseconds();
  EXPECT_LT(after_sleep - begin, 100'000'000U);
  const std::uint64_t wall = monotonic_nanoseconds();
  while (thread_nanoseconds() - after_sleep < 1'000'000) {
  }
  EXPECT_GE(monotonic_nanoseconds() - wall, 900'000U);
}

}  // namespace
}  // namespace vectis
