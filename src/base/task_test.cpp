#include "vectis/base/task.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;

Task<int> twice(Executor& executor, int n) {
  co_await sleep_for(executor, 1ms);
  co_return 2 * n;
}

Task<int> sum_of_twice(Executor& executor, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await twice(executor, i);
  co_return sum;
}

Task<> fail_after(Executor& executor, Duration delay) {
  co_await sleep_for(executor, delay);
  throw std::runtime_error("failed");
}

Task<std::string> rescue(Executor& executor) {
  try {
    co_await fail_after(executor, 1ms);
  } catch (const std::runtime_error& error) {
    co_return error.what();
  }
  co_return "not reached";
}

Task<std::unique_ptr<int>> make_unique_later(Executor& executor) {
  co_await yield(executor);
  co_return std::make_unique<int>(5);
}

Task<int> flag_when_run(bool& ran) {
  ran = true;
  co_return 1;
}

Task<> yield_once(Executor& executor) { co_await yield(executor); }

Task<> wait_inside(Executor& executor) {
  sync_wait(executor, yield_once(executor));
  co_return;
}

TEST(Task, ReturnsItsValueAfterSimulatedTime) {
  SimulatedExecutor executor(1);
  EXPECT_EQ(sync_wait(executor, sum_of_twice(executor, 10)), 90);
  EXPECT_EQ(executor.now(), TimePoint(10ms));
}

TEST(Task, AnExceptionReachesTheAwaiter) {
  SimulatedExecutor executor(1);
  EXPECT_EQ(sync_wait(executor, rescue(executor)), "failed");
  EXPECT_THROW(sync_wait(executor, fail_after(executor, 1ms)), std::runtime_error);
}

TEST(Task, MoveOnlyValuesPass) {
  SimulatedExecutor executor(1);
  EXPECT_EQ(*sync_wait(executor, make_unique_later(executor)), 5);
}

TEST(Task, IsLazyAndMovable) {
  SimulatedExecutor executor(1);
  bool ran = false;
  {
    Task<int> first = flag_when_run(ran);
    Task<int> second = std::move(first);
    first = std::move(second);
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(sync_wait(executor, flag_when_run(ran)), 1);
  EXPECT_TRUE(ran);
}

TEST(Task, SpawnedTasksInterleave) {
  SimulatedExecutor executor(1);
  std::vector<Spawned<int>> spawned;
  spawned.reserve(5);
  for (int i = 0; i < 5; ++i) spawned.push_back(spawn(executor, twice(executor, i)));
  EXPECT_FALSE(spawned[0].done());
  executor.run();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(spawned[static_cast<std::size_t>(i)].done());
    EXPECT_EQ(spawned[static_cast<std::size_t>(i)].take(), 2 * i);
  }
  EXPECT_EQ(executor.now(), TimePoint(1ms));  // side by side, not one after the other
}

TEST(Task, ATaskContinuesWithoutItsHandle) {
  SimulatedExecutor executor(1);
  bool ran = false;
  spawn(executor, flag_when_run(ran));
  executor.run();
  EXPECT_TRUE(ran);
}

TEST(Task, SyncWaitInsideATaskIsRejected) {
  SimulatedExecutor executor(1);
  EXPECT_ERROR(sync_wait(executor, wait_inside(executor)), ErrorCode::invalid_input, "[run_until]");
  executor.run();
}

TEST(Task, CapturesAreDestroyedBeforeDone) {
  SimulatedExecutor executor(1);
  auto held = std::make_shared<int>(1);
  const auto hold = [](Executor& inner, std::shared_ptr<int>) -> Task<> { co_await yield(inner); };
  sync_wait(executor, hold(executor, held));
  EXPECT_EQ(held.use_count(), 1);
}

Task<int> at_once(int n) { co_return n; }

Task<std::int64_t> sum_at_once(int count) {
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await at_once(i);
  co_return sum;
}

TEST(Task, AMillionTasksThatNeverWaitUseConstantStack) {
  SimulatedExecutor executor(1);
  EXPECT_EQ(sync_wait(executor, sum_at_once(1000000)), 499999500000);
}

TEST(TaskConcurrent, RunsUnchangedOnThreads) {
  const auto executor = make_thread_executor({.threads = 4});
  EXPECT_EQ(sync_wait(*executor, sum_of_twice(*executor, 10)), 90);
  EXPECT_EQ(sync_wait(*executor, rescue(*executor)), "failed");
  EXPECT_THROW(sync_wait(*executor, fail_after(*executor, 1ms)), std::runtime_error);
  std::vector<Spawned<int>> spawned;
  spawned.reserve(100);
  for (int i = 0; i < 100; ++i) spawned.push_back(spawn(*executor, twice(*executor, i)));
  for (int i = 0; i < 100; ++i) {
    auto& one = spawned[static_cast<std::size_t>(i)];
    executor->run_until([&] { return one.done(); });
    EXPECT_EQ(one.take(), 2 * i);
  }
}

TEST(TaskConcurrent, CapturesAreDestroyedBeforeDone) {
  const auto executor = make_thread_executor({.threads = 4});
  const auto hold = [](Executor& inner, std::shared_ptr<int>) -> Task<> { co_await yield(inner); };
  for (int i = 0; i < 200; ++i) {
    auto held = std::make_shared<int>(1);
    sync_wait(*executor, hold(*executor, held));
    ASSERT_EQ(held.use_count(), 1);
  }
}

}  // namespace
}  // namespace vectis
