#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>

#include "tests/support/fake_os.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/os.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

// Runs `body` in a forked child and returns its status, or -1 when it had to be killed. A child that hangs is killed
// by its own alarm.
int run_in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

bool is_forked_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() == ErrorCode::forked;
  }
  return false;
}

TEST(Fork, TheGenerationCountsForks) {
  const std::uint64_t here = fork_generation();
  EXPECT_EQ(run_in_child([&] {
              if (fork_generation() != here + 1) return 1;
              return run_in_child([&] { return fork_generation() == here + 2 ? 0 : 2; });
            }),
            0);
  EXPECT_EQ(fork_generation(), here);
}

TEST(Fork, AParentsRuntimeThrowsForkedInTheChild) {
  test::FakeOs os;
  RuntimeOptions options;
  options.os = &os;
  options.threads = 2;
  Runtime runtime(options);
  struct Service {
    explicit Service(Runtime&) {}
  };
  EXPECT_EQ(run_in_child([&] {
              if (!is_forked_error([&] { runtime.check_fork("test"); })) return 1;
              if (!is_forked_error([&] { runtime.service<Service>(); })) return 2;
              return 0;
            }),
            0);
  EXPECT_NO_THROW(runtime.service<Service>());
}

TEST(Fork, AParentsExecutorThrowsForkedAndIsDestroyedSafelyInTheChild) {
  auto executor = make_thread_executor({.threads = 2});
  executor->parallel_for(1000, 1, [](auto, auto) {});  // its threads run
  EXPECT_EQ(run_in_child([&] {
              if (!is_forked_error([&] { executor->post([] {}); })) return 1;
              if (!is_forked_error([&] { executor->post_after(std::chrono::seconds(1), [] {}); })) return 2;
              if (!is_forked_error([&] { executor->parallel_for(1, 1, [](auto, auto) {}); })) return 3;
              if (!is_forked_error([&] { executor->run_until([] { return true; }); })) return 4;
              if (!is_forked_error([&] { executor->random(); })) return 5;
              if (executor->concurrency() != 2 || executor->now() < TimePoint{}) return 6;
              executor.reset();  // must not wait for threads that are not here
              return 0;
            }),
            0);
}

// oneTBB's workers stay in the parent, but what the child gives to its own executor runs, and its destructor ends.
TEST(Fork, AChildsOwnExecutorRunsTasksTimersAndRanges) {
  const auto parents = make_thread_executor({.threads = 2});
  std::atomic<bool> ran{false};
  parents->post([&] { ran.store(true); });
  parents->run_until([&] { return ran.load(); });
  EXPECT_EQ(run_in_child([] {
              auto own = make_thread_executor({.threads = 2});
              std::atomic<int> done{0};
              own->post([&] {
                own->post_after(std::chrono::milliseconds(1), [&] { done.fetch_add(1); });
                own->parallel_for(100, 1, [&](auto begin, auto end) { done.fetch_add(static_cast<int>(end - begin)); });
              });
              own->run_until([&] { return done.load() == 101; });
              own->parallel_for(100, 1, [&](auto begin, auto end) { done.fetch_add(static_cast<int>(end - begin)); });
              own->post([&, &executor = *own] { executor.post([&] { done.fetch_add(1); }); });
              own.reset();
              return done.load() == 202 ? 0 : 1;
            }),
            0);
}

TEST(Fork, AChildCanCreateItsOwnRuntime) {
  EXPECT_EQ(run_in_child([] {
              test::FakeOs os;
              RuntimeOptions options;
              options.os = &os;
              options.executor = std::make_shared<SimulatedExecutor>(1);
              const Runtime runtime(options);
              return is_forked_error([&] { runtime.check_fork("test"); }) ? 1 : 0;
            }),
            0);
}

}  // namespace
}  // namespace vectis
