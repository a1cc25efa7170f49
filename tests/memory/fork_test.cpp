// A child process forked while other threads of the parent use the pool: its destructors end, although the locks that
// those threads held are never released in the child.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "tests/memory/fixture.hpp"

namespace vectis {
namespace {

// The exit code of the child, or -1 when it does not end within five seconds.
int exit_code_of(pid_t child) {
  for (int i = 0; i < 500; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

using PoolInAForkedChild = test::MemoryTest;

TEST_F(PoolInAForkedChild, DestroysBuffersAndScopesAtOnce) {
  std::vector<ManagedBuffer> buffers;
  for (int i = 0; i < 1000; ++i) buffers.push_back(bytes("cpu", 1000));  // long queries, which hold every lock
  std::optional<MemoryScope> scope(std::in_place, pool(), id("cpu"), "scope");
  std::atomic<bool> stop{false};
  std::thread queries([&] {
    while (!stop) static_cast<void>(stats("cpu"));
  });
  for (int i = 0; i < 5 && !HasFailure(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      scope.reset();
      buffers.clear();
      _exit(0);
    }
    EXPECT_EQ(exit_code_of(child), 0) << "-1: it hangs";
  }
  stop = true;
  queries.join();
}

}  // namespace
}  // namespace vectis
