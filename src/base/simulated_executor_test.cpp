#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "vectis/base/executor.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;

TEST(SimulatedExecutor, APostedTaskRunsInTheNextStep) {
  SimulatedExecutor executor(1);
  int ran = 0;
  executor.post([&] { ++ran; });
  EXPECT_EQ(ran, 0);
  EXPECT_TRUE(executor.step());
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(executor.step());
}

TEST(SimulatedExecutor, TimersRunInTheOrderOfTheirTimesAndMoveTheClock) {
  SimulatedExecutor executor(1);
  std::vector<std::pair<int, TimePoint>> seen;
  for (const int delay : {30, 10, 20}) {
    executor.post_after(std::chrono::milliseconds(delay), [&, delay] { seen.emplace_back(delay, executor.now()); });
  }
  EXPECT_EQ(executor.run(), 3U);
  EXPECT_EQ(seen, (std::vector<std::pair<int, TimePoint>>{
                      {10, TimePoint(10ms)}, {20, TimePoint(20ms)}, {30, TimePoint(30ms)}}));
}

TEST(SimulatedExecutor, NoDelayAndNegativeDelayAreReadyNow) {
  SimulatedExecutor executor(1);
  int ran = 0;
  executor.post_after(0ns, [&] { ++ran; });
  executor.post_after(-5s, [&] { ++ran; });
  EXPECT_EQ(executor.run(), 2U);
  EXPECT_EQ(executor.now(), TimePoint{});
  EXPECT_EQ(ran, 2);
}

TEST(SimulatedExecutor, TheLongestDelayDoesNotOverflow) {
  SimulatedExecutor executor(1);
  executor.post_after(1s, [&] { executor.post_after(Duration::max(), [] {}); });
  EXPECT_EQ(executor.run(), 2U);
  EXPECT_EQ(executor.now(), TimePoint::max());
}

// The orders in which `count` tasks run, over many seeds.
template <class Post>
std::set<std::string> orders(int count, Post post) {
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimulatedExecutor executor(seed);
    std::string order;
    for (int i = 0; i < count; ++i) post(executor, [&order, i] { order += static_cast<char>('a' + i); });
    executor.run();
    found.insert(order);
  }
  return found;
}

TEST(SimulatedExecutor, SeedsExploreEveryOrderOfReadyTasks) {
  EXPECT_EQ(orders(3, [](auto& executor, auto task) { executor.post(task); }).size(), 6U);
}

TEST(SimulatedExecutor, SeedsExploreEveryOrderOfSimultaneousTimers) {
  EXPECT_EQ(orders(3, [](auto& executor, auto task) { executor.post_after(7ms, task); }).size(), 6U);
}

// Tasks that post more tasks, as decided by random().
std::uint64_t busy_trace(std::uint64_t seed, bool draws_extra = false) {
  SimulatedExecutor executor(seed);
  int left = 50;
  std::function<void()> work = [&] {
    if (left-- <= 0) return;
    if (draws_extra) executor.random();
    executor.post(work);
    executor.post_after(std::chrono::microseconds(left % 5), work);
  };
  for (int i = 0; i < 3; ++i) executor.post(work);
  executor.run();
  return executor.trace();
}

TEST(SimulatedExecutor, TheSameSeedGivesTheSameTrace) {
  std::set<std::uint64_t> traces;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(busy_trace(seed), busy_trace(seed)) << "seed " << seed;
    traces.insert(busy_trace(seed));
  }
  EXPECT_EQ(traces.size(), 100U);
}

TEST(SimulatedExecutor, RandomDrawsDoNotChangeTheSchedule) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(busy_trace(seed, false), busy_trace(seed, true));
}

TEST(SimulatedExecutor, TheTraceIncludesTheTime) {
  const auto trace = [](Duration delay) {
    SimulatedExecutor executor(1);
    executor.post_after(delay, [] {});
    executor.run();
    return executor.trace();
  };
  EXPECT_NE(trace(1ms), trace(2ms));
}

TEST(SimulatedExecutor, RandomIsSeededAndIndependentOfScheduling) {
  SimulatedExecutor one(5);
  SimulatedExecutor two(5);
  for (int i = 0; i < 10; ++i) one.post([] {});
  one.run();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.random(), two.random());
  EXPECT_NE(SimulatedExecutor(5).random(), SimulatedExecutor(6).random());
}

TEST(SimulatedExecutor, RunStopsAtItsLimit) {
  SimulatedExecutor executor(1);
  std::function<void()> forever = [&] { executor.post(forever); };
  executor.post(forever);
  EXPECT_EQ(executor.run(17), 17U);
}

TEST(SimulatedExecutor, RunUntilStopsAsSoonAsItsConditionHolds) {
  SimulatedExecutor executor(1);
  int ran = 0;
  for (int i = 0; i < 10; ++i) executor.post([&] { ++ran; });
  executor.run_until([&] { return ran == 4; });
  EXPECT_EQ(ran, 4);
}

TEST(SimulatedExecutor, RunUntilThrowsWhenItIsStuck) {
  SimulatedExecutor executor(1);
  executor.post([] {});
  EXPECT_ERROR(executor.run_until([] { return false; }), ErrorCode::invalid_input, "[run_until]", "stuck",
               "after 1 steps");
}

TEST(SimulatedExecutor, SteppingInsideATaskIsRejected) {
  SimulatedExecutor executor(1);
  executor.post([&] {
    EXPECT_ERROR(executor.step(), ErrorCode::invalid_input, "[step]", "inside a task");
    EXPECT_ERROR(executor.run_until([] { return true; }), ErrorCode::invalid_input, "[run_until]");
  });
  EXPECT_EQ(executor.run(), 1U);
}

TEST(SimulatedExecutor, ATaskThatThrowsReachesTheCallerAndTheNextStepWorks) {
  SimulatedExecutor executor(1);
  executor.post([] { throw std::runtime_error("broken"); });
  EXPECT_THROW(executor.step(), std::runtime_error);
  executor.post([] {});
  EXPECT_TRUE(executor.step());
}

TEST(SimulatedExecutor, ParallelForRunsInlineAndInOrder) {
  SimulatedExecutor executor(1);
  EXPECT_EQ(executor.concurrency(), 1U);
  for (const std::size_t count : {0U, 1U, 7U, 1000U}) {
    std::size_t next = 0;
    executor.parallel_for(count, 3, [&](std::size_t begin, std::size_t end) {
      EXPECT_EQ(begin, next);
      EXPECT_TRUE(end - begin >= 3 || end == count);
      next = end;
    });
    EXPECT_EQ(next, count);
  }
  EXPECT_THROW(executor.parallel_for(5, 1, [](auto, auto) { throw std::runtime_error("body"); }), std::runtime_error);
}

TEST(SimulatedExecutor, DestructionDiscardsPendingTasks) {
  const auto held = std::make_shared<int>(1);
  {
    SimulatedExecutor executor(1);
    executor.post([held] { FAIL() << "dropped tasks must not run"; });
    executor.post_after(1s, [held] { FAIL(); });
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace vectis
