#include "kernel/profiler/device_timestamps.hpp"

#include <gtest/gtest.h>

namespace vectis {
namespace {

using detail::DeviceClock;

constexpr std::uint64_t second = 1'000'000'000;

TEST(DeviceClock, OneSampleGivesTheOffset) {
  DeviceClock clock;
  EXPECT_FALSE(clock.synchronized());
  clock.add({.device = 1000, .host = 50'000, .uncertainty = 5});
  EXPECT_TRUE(clock.synchronized());
  EXPECT_EQ(clock.to_host(1000), 50'000U);
  EXPECT_EQ(clock.to_host(1007), 50'007U);
  EXPECT_EQ(clock.to_host(0), 49'000U);
}

TEST(DeviceClock, TwoSamplesGiveTheDrift) {
  DeviceClock clock;
  clock.add({.device = 5 * second, .host = second, .uncertainty = 5});
  clock.add({.device = 105 * second, .host = 101 * second + 1'000'000, .uncertainty = 5});  // 10 ppm
  EXPECT_NEAR(static_cast<double>(clock.to_host(55 * second)), 51e9 + 5e5, 2.0);
}

TEST(DeviceClock, IgnoresImplausibleRates) {
  DeviceClock clock;
  clock.add({.device = 1, .host = second, .uncertainty = 5});
  clock.add({.device = 20'000'000, .host = 100 * second, .uncertainty = 5});
  EXPECT_EQ(clock.to_host(3), second + 2);
  clock.add({.device = 0, .host = 100 * second, .uncertainty = 5});  // the clock went backwards
  EXPECT_EQ(clock.to_host(3), second + 2);
}

TEST(DeviceClock, WorkNeverBeginsBeforeItsSubmission) {
  DeviceClock clock;
  clock.add({.device = 0, .host = 1000, .uncertainty = 100});
  detail::SpanRecord record;
  record.device = 2;
  record.begin = 1050;
  const auto times = detail::host_times({{2, clock}}, record, 20, 90);
  EXPECT_EQ(times.begin, 1050U);
  EXPECT_EQ(times.end, 1090U);
  const auto unmatched = detail::host_times({}, record, 7000, 7300);
  EXPECT_EQ(unmatched.begin, 1050U);
  EXPECT_EQ(unmatched.end, 1350U);
}

}  // namespace
}  // namespace vectis
