#include "memory/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "tests/support/seed.hpp"

namespace vectis::detail {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration time) { return TimePoint{time}; }

// The value of the points' step function at `time`.
std::uint64_t in_use_at(const std::vector<TimelinePoint>& points, TimePoint time) {
  std::uint64_t value = 0;
  for (const TimelinePoint& point : points) {
    if (point.time <= time) value = point.in_use_bytes;
  }
  return value;
}

std::uint64_t highest_in_use(const std::vector<TimelinePoint>& points) {
  return std::ranges::max(points, {}, &TimelinePoint::in_use_bytes).in_use_bytes;
}

TEST(Timeline, IsEmptyBeforeTheFirstUse) { EXPECT_TRUE(Timeline().points(at(1s), 0).empty()); }

TEST(Timeline, EndsWithTheCurrentState) {
  Timeline timeline;
  timeline.record_reserved(at(1ms), 4096, 0);
  timeline.record_rise(at(1ms), 1024, 1024);
  const auto points = timeline.points(at(9s), 512);
  EXPECT_EQ(points.back().time, at(9s));
  EXPECT_EQ(points.back().reserved_bytes, 4096U);
  EXPECT_EQ(points.back().in_use_bytes, 512U);
  EXPECT_EQ(highest_in_use(points), 1024U);
}

TEST(Timeline, IdleTimesShowTheBytesLeftInUseAndNotThePeakBefore) {
  Timeline timeline;
  timeline.record_reserved(at(0s), 1000, 0);
  timeline.record_rise(at(0s), 1000, 1000);
  ASSERT_TRUE(timeline.is_notable_drop(100));
  timeline.record_drop(at(50us), 100, 900);
  timeline.record_rise(at(10s), 300, 200);
  const auto points = timeline.points(at(11s), 300);
  EXPECT_EQ(in_use_at(points, at(10us)), 1000U);
  EXPECT_EQ(in_use_at(points, at(5s)), 100U);
  EXPECT_EQ(in_use_at(points, at(10s)), 300U);
}

TEST(Timeline, AnUnrecordedRiseIsSeenInTheIdleTimeAfterIt) {
  Timeline timeline;
  timeline.record_reserved(at(0s), 1000, 0);
  timeline.record_rise(at(0s), 1000, 1000);
  timeline.record_drop(at(10us), 0, 1000);
  timeline.record_rise(at(20us), 500, 500);  // below the window's peak: not recorded
  timeline.record_rise(at(10s), 600, 100);
  EXPECT_EQ(in_use_at(timeline.points(at(11s), 600), at(5s)), 500U);
}

TEST(Timeline, TheIdleTimeUntilNowShowsTheBytesInUseNow) {
  Timeline timeline;
  timeline.record_reserved(at(0s), 1000, 0);
  timeline.record_rise(at(0s), 1000, 1000);
  timeline.record_drop(at(50us), 0, 1000);  // within the window of the peak
  const auto points = timeline.points(at(9s), 0);
  EXPECT_EQ(highest_in_use(points), 1000U);
  EXPECT_EQ(in_use_at(points, at(1s)), 0U) << "the chart would show the peak until now";
  EXPECT_EQ(in_use_at(points, at(9s)), 0U);
}

TEST(Timeline, AWindowOfOneRecordShowsItsPeakForItsWidth) {
  Timeline timeline;
  timeline.record_rise(at(0s), 1000, 1000);
  timeline.record_rise(at(9s), 10, 0);
  const auto points = timeline.points(at(18s), 10);
  EXPECT_EQ(in_use_at(points, at(0s)), 1000U);
  EXPECT_EQ(in_use_at(points, at(1s)), 10U);
  EXPECT_EQ(in_use_at(points, at(9s)), 10U);
}

TEST(Timeline, SmallDropsAreNotRecorded) {
  Timeline timeline;
  timeline.record_reserved(at(0s), 32'000, 0);
  timeline.record_rise(at(0s), 32'000, 32'000);
  EXPECT_FALSE(timeline.is_notable_drop(31'500));
  EXPECT_TRUE(timeline.is_notable_drop(30'000));
  timeline.record_drop(at(1us), 0, 32'000);
  EXPECT_FALSE(timeline.is_notable_drop(0));  // cannot drop further
}

TEST(Timeline, StaysBoundedInOrderAndKeepsEveryPeak) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  Timeline timeline;
  std::uint64_t in_use = 0;
  std::uint64_t peak = 0;
  std::uint64_t peak_reserved = 0;
  Duration time{0};
  for (int i = 0; i < 200'000; ++i) {
    time += Duration(random() % 1'000'000);
    const std::uint64_t bytes = random() % 1000;
    if (i % 977 == 0) {
      const std::uint64_t reserved = random() % 1'000'000'000;
      timeline.record_reserved(at(time), reserved, in_use);
      peak_reserved = std::max(peak_reserved, reserved);
    }
    if (random() % 2 == 0 || in_use < bytes) {
      in_use += bytes;
      timeline.record_rise(at(time), in_use, bytes);
      peak = std::max(peak, in_use);
    } else {
      in_use -= bytes;
      if (timeline.is_notable_drop(in_use)) timeline.record_drop(at(time), in_use, bytes);
    }
  }
  // A short peak, long ago by the end.
  timeline.record_rise(at(time), in_use + 10'000'000, 10'000'000);
  peak = std::max(peak, in_use + 10'000'000);
  const Duration peak_time = time;
  for (int i = 0; i < 100'000; ++i) {
    time += 1ms;
    timeline.record_rise(at(time), in_use, 0);
  }
  const auto points = timeline.points(at(time), in_use);
  EXPECT_LE(points.size(), Timeline::points_max + 2);
  EXPECT_GE(points.size(), Timeline::points_max / 2);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &TimelinePoint::time));
  EXPECT_EQ(highest_in_use(points), peak);
  EXPECT_EQ(std::ranges::max(points, {}, &TimelinePoint::reserved_bytes).reserved_bytes, peak_reserved);
  EXPECT_EQ(in_use_at(points, at(peak_time)), peak);
}

TEST(TimelineConcurrent, KeepsThePeakAndTheOrder) {
  Timeline timeline;
  std::atomic<std::uint64_t> in_use{0};
  std::atomic<std::uint64_t> peak{0};
  std::atomic<Duration::rep> clock{0};
  const auto work = [&] {
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t risen = in_use.fetch_add(100) + 100;
      for (std::uint64_t seen = peak; seen < risen && !peak.compare_exchange_weak(seen, risen);) {
      }
      timeline.record_rise(at(Duration(clock += 1000)), risen, 100);
      if (i % 100 == 0) timeline.record_reserved(at(Duration(clock += 1)), 1000, in_use);
      const std::uint64_t fallen = in_use.fetch_sub(100) - 100;
      if (timeline.is_notable_drop(fallen)) timeline.record_drop(at(Duration(clock += 1000)), fallen, 100);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  threads.clear();
  const auto points = timeline.points(at(Duration(clock)), in_use);
  EXPECT_EQ(highest_in_use(points), peak.load());
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &TimelinePoint::time));
  EXPECT_LE(points.size(), Timeline::points_max + 2);
}

}  // namespace
}  // namespace vectis::detail
