#include "vectis/base/time.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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

}  // namespace
}  // namespace vectis
