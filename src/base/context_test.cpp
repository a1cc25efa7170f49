#include "vectis/base/context.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/expect_error.hpp"

namespace vectis {
namespace {

using namespace std::chrono_literals;

TEST(Context, TheDefaultHasNoLimits) {
  SimulatedExecutor executor(1);
  const Context context;
  EXPECT_EQ(context.deadline(), std::nullopt);
  EXPECT_FALSE(context.cancelled());
  EXPECT_EQ(context.request_id(), "");
  EXPECT_EQ(context.memory_tag(), "");
  EXPECT_EQ(context.priority(), Priority::normal);
  EXPECT_NO_THROW(context.check("search", executor));
}

TEST(Context, SettersLeaveTheOriginalUnchanged) {
  const Context plain;
  const Context tagged = plain.with_memory_tag("index").with_request_id("r-1").with_priority(Priority::high);
  const Context later = tagged.with_deadline(TimePoint(5ms));
  EXPECT_EQ(plain.memory_tag(), "");
  EXPECT_EQ(tagged.deadline(), std::nullopt);
  EXPECT_EQ(later.deadline(), TimePoint(5ms));
  EXPECT_EQ(later.memory_tag(), "index");
  EXPECT_EQ(later.request_id(), "r-1");
  EXPECT_EQ(later.priority(), Priority::high);
}

TEST(Context, CancelReachesEveryContextOfTheSource) {
  SimulatedExecutor executor(1);
  CancelSource source;
  const Context context = Context{}.with_cancel(source);
  const Context derived = context.with_request_id("r-7");
  EXPECT_NO_THROW(derived.check("search", executor));
  const CancelSource same = source;
  source.cancel();
  EXPECT_TRUE(same.cancelled());
  EXPECT_TRUE(context.cancelled());
  EXPECT_ERROR(derived.check("search", executor), ErrorCode::cancelled, "[search]", "request r-7");
}

TEST(Context, ATimeoutIsADeadlineInRealTime) {
  SimulatedExecutor executor(1);
  EXPECT_NO_THROW(Context{}.with_timeout(1h).check("search", executor));
  EXPECT_NO_THROW(Context{}.with_timeout(Duration::max()).check("search", executor));
  EXPECT_ERROR(Context{}.with_timeout(0ns).check("search", executor), ErrorCode::deadline_exceeded, "[search]");
  EXPECT_ERROR(Context{}.with_timeout(Duration::min()).check("search", executor), ErrorCode::deadline_exceeded);
  const Context replaced = Context{}.with_deadline(executor.now()).with_timeout(1h);
  EXPECT_FALSE(replaced.expired(executor));
  EXPECT_EQ(replaced.deadline(), std::nullopt);
}

TEST(Context, ADeadlineUsesTheExecutorsClock) {
  SimulatedExecutor executor(1);
  const Context context = Context{}.with_deadline(executor.now() + 5ms);
  executor.post_after(5ms - 1ns, [] {});
  executor.run();
  EXPECT_NO_THROW(context.check("search", executor));
  executor.post_after(1ns + 2ms, [] {});
  executor.run();
  EXPECT_ERROR(context.check("search", executor), ErrorCode::deadline_exceeded, "[search]", "2.000 ms ago");
}

TEST(Context, ADeadlineIsExceededAtItsExactTime) {
  SimulatedExecutor executor(1);
  const Context context = Context{}.with_deadline(executor.now());
  EXPECT_ERROR(context.check("search", executor), ErrorCode::deadline_exceeded, "0.000 ms");
}

TEST(Context, ASteadyClockDeadlineIsRealTime) {
  using std::chrono::steady_clock;
  SimulatedExecutor executor(1);
  const Context passed = Context{}.with_deadline(steady_clock::now() - 3ms);
  EXPECT_EQ(passed.deadline(), std::nullopt);
  EXPECT_TRUE(passed.expired(executor));
  EXPECT_ERROR(passed.check("search", executor), ErrorCode::deadline_exceeded, "[search]", "ms ago");
  const Context later = Context{}.with_deadline(steady_clock::now() + 1h);
  EXPECT_FALSE(later.expired(executor));
  EXPECT_NO_THROW(later.check("search", executor));
  EXPECT_NO_THROW(passed.with_deadline(executor.now() + 1h).check("search", executor));  // the later deadline counts
  EXPECT_THROW(later.with_deadline(executor.now()).check("search", executor), Error);
}

TEST(Context, OnlyADeadlineOrASourceCanStopACall) {
  EXPECT_FALSE(Context{}.can_stop());
  EXPECT_FALSE(Context{}.with_memory_tag("index").with_request_id("r-9").can_stop());
  EXPECT_TRUE(Context{}.with_deadline(TimePoint::max()).can_stop());
  EXPECT_TRUE(Context{}.with_deadline(std::chrono::steady_clock::time_point::max()).can_stop());
  EXPECT_TRUE(Context{}.with_timeout(1h).can_stop());
  EXPECT_TRUE(Context{}.with_cancel(CancelSource{}).can_stop());
}

TEST(Context, TheMinimumDeadlineHasAReadableMessage) {
  SimulatedExecutor executor(1);
  const Context context = Context{}.with_deadline(TimePoint::min());
  EXPECT_ERROR(context.check("search", executor), ErrorCode::deadline_exceeded, "passed more than a year ago");
}

TEST(Context, ProgressReachesTheCallback) {
  std::vector<std::uint64_t> seen;
  const Context context = Context{}
                              .with_progress([&](const Progress& progress) {
                                EXPECT_EQ(progress.operation, "build");
                                seen.insert(seen.end(), {progress.done, progress.total});
                              })
                              .with_request_id("r-9");
  context.report_progress("build", 1, 10);
  context.report_progress("build", 10, 10);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 10, 10, 10}));
  EXPECT_NO_THROW(Context{}.report_progress("build", 1, 10));
  EXPECT_NO_THROW(Context{}.with_request_id("r").report_progress("build", 1, 10));
}

TEST(CancelSourceConcurrent, OneThreadCancelsCallsOfOthers) {
  const auto executor = make_thread_executor({.threads = 2});
  CancelSource source;
  int handed_over = 0;
  std::vector<std::thread> workers;
  workers.reserve(3);
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&, context = Context{}.with_cancel(source)] {
      try {
        for (;;) context.check("loop", *executor);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::cancelled);
        EXPECT_EQ(handed_over, 42);  // written before the cancel
      }
    });
  }
  handed_over = 42;
  source.cancel();
  for (auto& worker : workers) worker.join();
}

}  // namespace
}  // namespace vectis
