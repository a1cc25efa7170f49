#include "base/os/proc.hpp"

#include <gtest/gtest.h>

namespace vectis {
namespace {

TEST(Meminfo, ReadsAFieldInBytes) {
  constexpr std::string_view text = "MemTotal:       16316412 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemTotal"), 16316412ULL * 1024);
  EXPECT_EQ(meminfo_bytes(text, "MemAvailable"), 2048ULL * 1024);
}

TEST(Meminfo, MissingOrMalformedFieldsAreZero) {
  EXPECT_EQ(meminfo_bytes("", "MemTotal"), 0U);
  EXPECT_EQ(meminfo_bytes("MemTotalX: 5 kB\n", "MemTotal"), 0U);
  EXPECT_EQ(meminfo_bytes("MemTotal:\n", "MemTotal"), 0U);
  EXPECT_EQ(meminfo_bytes("MemTotal: many kB", "MemTotal"), 0U);
}

TEST(CpuTimes, GuestTimeCountsOnceAndIoWaitIsIdle) {
  const auto times = parse_cpu_times("cpu  10 1 5 100 20 2 3 4 7 7\ncpu0 1 1 1 1\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->all, 145U);
  EXPECT_EQ(times->busy, 25U);
}

TEST(CpuTimes, OldKernelsReportFewerFields) {
  const auto times = parse_cpu_times("cpu 10 0 10 20");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->all, 40U);
  EXPECT_EQ(times->busy, 20U);
}

TEST(CpuTimes, OtherTextIsRejected) {
  for (const char* const text : {"", "cpu0 1 2 3 4\n", "cpu 1 2 3\n", "cpu a b c d\n", "intr 5\n"}) {
    EXPECT_FALSE(parse_cpu_times(text)) << text;
  }
}

TEST(BusyShare, IsMeasuredBetweenTwoReadings) {
  EXPECT_DOUBLE_EQ(*busy_share({10, 100}, {35, 200}), 0.25);
  EXPECT_DOUBLE_EQ(*busy_share({0, 0}, {50, 50}), 1.0);
  EXPECT_DOUBLE_EQ(*busy_share({0, 0}, {60, 50}), 1.0);
  EXPECT_FALSE(busy_share({10, 100}, {10, 100}));
  EXPECT_FALSE(busy_share({10, 100}, {9, 200}));
  EXPECT_FALSE(busy_share({10, 100}, {20, 90}));
}

}  // namespace
}  // namespace vectis
