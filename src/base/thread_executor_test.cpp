#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/executor.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;

TEST(ThreadExecutorConcurrent, RunsEveryPostedTaskOnceAndNeverInsidePost) {
  constexpr int tasks = 5000;
  std::vector<std::atomic<int>> runs(tasks);
  std::atomic<int> done{0};
  const auto executor = make_thread_executor({.threads = 4});
  const auto here = std::this_thread::get_id();
  for (std::size_t i = 0; i < tasks; ++i) {
    executor->post([&, i] {
      EXPECT_NE(std::this_thread::get_id(), here);
      runs[i].fetch_add(1);
      done.fetch_add(1);
    });
  }
  executor->run_until([&] { return done.load() == tasks; });
  for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
}

TEST(ThreadExecutorConcurrent, OneThreadIsEnoughForTasksTimersAndRanges) {
  const auto executor = make_thread_executor({.threads = 1});
  EXPECT_EQ(executor->concurrency(), 1U);
  std::atomic<int> done{0};
  executor->post([&] {
    executor->parallel_for(10, 1, [&](auto begin, auto end) { done.fetch_add(static_cast<int>(end - begin)); });
    executor->post_after(1ms, [&] { done.fetch_add(100); });
  });
  executor->run_until([&] { return done.load() == 110; });
}

TEST(ThreadExecutorConcurrent, ManyThreadsPostAndWaitAtOnce) {
  const auto executor = make_thread_executor({.threads = 4});
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<int> done{0};
        for (int i = 0; i < 20; ++i) executor->post([&] { done.fetch_add(1); });
        executor->run_until([&] { return done.load() == 20; });
      }
    });
  }
  for (auto& caller : callers) caller.join();
}

TEST(ThreadExecutorConcurrent, TheDestructorWaitsForPostedTasks) {
  std::atomic<int> ran{0};
  {
    const auto executor = make_thread_executor({.threads = 2});
    for (int i = 0; i < 100; ++i) {
      executor->post([&, &executor = *executor] {
        std::this_thread::sleep_for(50us);
        executor.post([&] { ran.fetch_add(1); });
      });
    }
  }
  EXPECT_EQ(ran.load(), 100);
}

TEST(ThreadExecutorConcurrent, TheDestructorDiscardsTimersThatAreNotDue) {
  const auto held = std::make_shared<int>(0);
  {
    const auto executor = make_thread_executor({.threads = 2});
    executor->post_after(1h, [held] { FAIL() << "an hour has not passed"; });
    executor->post_after(Duration::max(), [held] { FAIL() << "overflow"; });
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ThreadExecutorConcurrent, CapturesAreDestroyedBeforeTheTaskEnds) {
  const auto executor = make_thread_executor({.threads = 2});
  for (int i = 0; i < 200; ++i) {
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watched = held;
    executor->post([held = std::move(held)] {});
    executor->run_until([&] { return watched.expired(); });
  }
}

// Runs timers of 20, 40 and 60 ms and two without delay. Returns their order; empty when the machine stalled so long
// that two of them were due together.
std::optional<std::vector<int>> order_of_timers(Executor& executor) {
  std::mutex mutex;
  std::vector<int> order;
  Duration latest{};
  std::atomic<int> done{0};
  const TimePoint begin = executor.now();
  for (const int delay : {60, 20, 40, 0, -7}) {
    executor.post_after(std::chrono::milliseconds(delay), [&, delay] {
      const Duration late = executor.now() - begin - std::chrono::milliseconds(delay);
      EXPECT_GE(late, Duration::zero()) << delay;
      const std::lock_guard lock(mutex);
      if (delay > 0) order.push_back(delay);
      if (delay > 0) latest = std::max(latest, late);
      done.fetch_add(1);
    });
  }
  executor.run_until([&] { return done.load() == 5; });
  return latest < 10ms ? std::optional(order) : std::nullopt;
}

TEST(ThreadExecutorConcurrent, TimersRunInOrderAndNotEarly) {
  const auto executor = make_thread_executor({.threads = 1});
  std::optional<std::vector<int>> order;
  for (int attempt = 0; attempt < 50 && !order; ++attempt) order = order_of_timers(*executor);
  EXPECT_EQ(order, (std::vector<int>{20, 40, 60}));
}

TEST(ThreadExecutorConcurrent, AnEarlierTimerOvertakesALaterOneAlreadyWaitedFor) {
  const auto executor = make_thread_executor({.threads = 2});
  std::atomic<bool> done{false};
  executor->post_after(1h, [] {});
  std::this_thread::sleep_for(5ms);  // the timer thread now waits for the hour
  executor->post_after(1ms, [&] { done.store(true); });
  executor->run_until([&] { return done.load(); });
}

TEST(ThreadExecutorConcurrent, ParallelForCoversEachIndexExactlyOnce) {
  const auto executor = make_thread_executor({.threads = 4});
  for (const std::size_t count : {0U, 1U, 2U, 7U, 1001U, 65537U}) {
    for (const std::size_t grain : {0U, 1U, 3U, 1000U, 1000000U}) {
      std::vector<std::uint8_t> touched(count);  // disjoint ranges: no two threads share an element
      executor->parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
        ASSERT_LT(begin, end);
        if (end != count) {
          EXPECT_GE(end - begin, grain);
        }
        for (std::size_t i = begin; i < end; ++i) ++touched[i];
      });
      EXPECT_EQ(std::accumulate(touched.begin(), touched.end(), std::size_t{0}), count);
      EXPECT_EQ(std::count(touched.begin(), touched.end(), 1), static_cast<std::ptrdiff_t>(count));
    }
  }
}

TEST(ThreadExecutorConcurrent, ParallelForAcceptsTheLargestCount) {
  const auto executor = make_thread_executor({.threads = 3});
  std::atomic<std::size_t> sum{0};
  executor->parallel_for(SIZE_MAX, 1, [&](std::size_t begin, std::size_t end) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum.load(), SIZE_MAX);
}

TEST(ThreadExecutorConcurrent, ParallelForSplitsDeterministically) {
  const auto executor = make_thread_executor({.threads = 4});
  const auto cuts = [&] {
    std::mutex mutex;
    std::set<std::pair<std::size_t, std::size_t>> ranges;
    executor->parallel_for(12345, 10, [&](std::size_t begin, std::size_t end) {
      const std::lock_guard lock(mutex);
      ranges.emplace(begin, end);
    });
    return ranges;
  };
  const auto first = cuts();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(cuts(), first);
}

TEST(ThreadExecutorConcurrent, ParallelForRethrowsAndTheNextOneWorks) {
  const auto executor = make_thread_executor({.threads = 4});
  for (const std::size_t count : {1U, 1000U}) {
    try {
      executor->parallel_for(count, 1, [&](std::size_t, std::size_t) { throw std::runtime_error("body"); });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "body");
    }
  }
  std::atomic<std::size_t> sum{0};
  executor->parallel_for(1000, 1, [&](std::size_t begin, std::size_t end) { sum.fetch_add(end - begin); });
  EXPECT_EQ(sum.load(), 1000U);
}

TEST(ThreadExecutorConcurrent, ParallelForNests) {
  const auto executor = make_thread_executor({.threads = 4});
  std::atomic<std::size_t> sum{0};
  executor->parallel_for(20, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      executor->parallel_for(100, 1, [&](std::size_t b, std::size_t e) { sum.fetch_add(e - b); });
    }
  });
  EXPECT_EQ(sum.load(), 2000U);
}

TEST(ThreadExecutorConcurrent, ABodyIsNotNestedInAnotherOfTheSameThread) {
  const auto executor = make_thread_executor({.threads = 4});
  executor->parallel_for(64, 1, [&](std::size_t, std::size_t) {
    thread_local int depth = 0;
    EXPECT_EQ(++depth, 1);
    executor->parallel_for(64, 1, [](std::size_t, std::size_t) {});
    --depth;
  });
}

TEST(ThreadExecutorConcurrent, SeveralThreadsRunRangesAtOnce) {
  const auto executor = make_thread_executor({.threads = 2});
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<std::size_t> sum{0};
        executor->parallel_for(997, 10, [&](std::size_t begin, std::size_t end) { sum.fetch_add(end - begin); });
        ASSERT_EQ(sum.load(), 997U);
      }
    });
  }
  for (auto& caller : callers) caller.join();
}

// Whether a parallel_for that this function starts ends while all other threads of the executor wait for it, as for a
// lock that its caller holds. `occupy` gives the executor bodies that wait.
bool caller_makes_progress(Executor& executor, const std::function<void(const std::function<void()>&)>& occupy) {
  std::atomic<std::size_t> waiting{0};
  std::atomic<bool> released{false};
  std::thread occupier([&] {
    occupy([&] {
      waiting.fetch_add(1);
      released.wait(false);
    });
  });
  while (waiting.load() < executor.concurrency()) std::this_thread::yield();
  std::promise<std::size_t> covered;
  auto result = covered.get_future();
  std::thread caller([&] {
    std::atomic<std::size_t> sum{0};
    executor.parallel_for(100, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        executor.parallel_for(10, 1, [&](std::size_t b, std::size_t e) { sum.fetch_add(e - b); });
      }
    });
    covered.set_value(sum.load());
  });
  const bool ended = result.wait_for(5s) == std::future_status::ready;
  released.store(true);
  released.notify_all();
  caller.join();
  occupier.join();
  EXPECT_EQ(result.get(), 1000U);
  return ended;
}

TEST(ThreadExecutorConcurrent, ACallerThatAllThreadsWaitForMakesProgress) {
  const auto executor = make_thread_executor({.threads = 2});
  const auto in_ranges = [&](const std::function<void()>& wait) {
    executor->parallel_for(64, 1, [&](std::size_t, std::size_t) { wait(); });
  };
  EXPECT_TRUE(caller_makes_progress(*executor, in_ranges));
  const auto in_tasks = [&](const std::function<void()>& wait) {
    std::atomic<int> left{2};
    for (int task = 0; task < 2; ++task) {
      executor->post([&] {
        wait();
        left.fetch_sub(1);
      });
    }
    executor->run_until([&] { return left.load() == 0; });
  };
  EXPECT_TRUE(caller_makes_progress(*executor, in_tasks));
}

TEST(ThreadExecutorConcurrent, WaitingInsideATaskOrARangeIsRejected) {
  const auto executor = make_thread_executor({.threads = 2});
  const auto other = make_thread_executor({.threads = 1});
  std::atomic<int> done{0};
  const auto wait_here = [&] {
    EXPECT_ERROR(executor->run_until([] { return true; }), ErrorCode::invalid_input, "[run_until]", "inside a task");
    done.fetch_add(1);
  };
  executor->post(wait_here);
  executor->run_until([&] { return done.load() == 1; });
  executor->parallel_for(1, 1, [&](auto, auto) { wait_here(); });
  other->parallel_for(1, 1, [&](auto, auto) { executor->run_until([] { return true; }); });
  executor->post([&] { other->parallel_for(1, 1, [&](auto, auto) { wait_here(); }); });
  executor->run_until([&] { return done.load() == 3; });
  EXPECT_NO_THROW(executor->run_until([] { return true; }));
}

TEST(ThreadExecutorConcurrent, RandomIsSharedWithoutRepeating) {
  const auto executor = make_thread_executor({.threads = 2, .seed = 3});
  std::mutex mutex;
  std::set<std::uint64_t> seen;
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t value = executor->random();
        const std::lock_guard lock(mutex);
        seen.insert(value);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(seen.size(), 800U);
  EXPECT_EQ(make_thread_executor({.threads = 1, .seed = 3})->random(),
            make_thread_executor({.threads = 1, .seed = 3})->random());
}

TEST(ThreadExecutor, ZeroThreadsMeansOnePerCore) { EXPECT_EQ(make_thread_executor()->concurrency(), cpu_info().cores); }

TEST(ThreadExecutor, TooManyThreadsAreRejected) {
  EXPECT_ERROR(make_thread_executor({.threads = 100000}), ErrorCode::invalid_input, "100000", "the limit is 1024");
}

TEST(ThreadExecutor, TheClockStartsNearZeroAndMoves) {
  const auto executor = make_thread_executor({.threads = 1});
  const TimePoint begin = executor->now();
  EXPECT_LT(begin, TimePoint(10s));
  std::this_thread::sleep_for(1ms);
  EXPECT_GE(executor->now() - begin, 1ms);
}

}  // namespace
}  // namespace vectis
