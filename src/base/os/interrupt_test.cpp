#include "vectis/base/interrupt.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace vectis {
namespace {

int program_handler_calls = 0;
void program_handler(int) { ++program_handler_calls; }

// Gives SIGINT an action of the program for one test.
class InterruptGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    program_handler_calls = 0;
    struct sigaction action = {};
    action.sa_handler = program_handler;
    ASSERT_EQ(sigaction(SIGINT, &action, &before_), 0);
  }
  void TearDown() override { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

TEST_F(InterruptGuardTest, CancelsTheSourceAndRunsTheHandlerOfTheProgram) {
  CancelSource source;
  {
    const InterruptGuard guard(source);
    EXPECT_FALSE(source.cancelled());
    std::raise(SIGINT);
    EXPECT_TRUE(source.cancelled());
  }
  EXPECT_EQ(program_handler_calls, 1);
}

TEST_F(InterruptGuardTest, RestoresTheHandlerOfTheProgram) {
  CancelSource source;
  {
    const InterruptGuard guard(source);
  }
  std::raise(SIGINT);
  EXPECT_FALSE(source.cancelled());
  EXPECT_EQ(program_handler_calls, 1);
}

TEST_F(InterruptGuardTest, CancelsTheInnermostOfNestedGuards) {
  CancelSource outer;
  CancelSource inner;
  const InterruptGuard around(outer);
  {
    const InterruptGuard guard(inner);
    std::raise(SIGINT);
  }
  EXPECT_TRUE(inner.cancelled());
  EXPECT_FALSE(outer.cancelled());
  std::raise(SIGINT);
  EXPECT_TRUE(outer.cancelled());
  EXPECT_EQ(program_handler_calls, 2);
}

// A handler as LLVM has: installed to run once, it puts the handler before it back and raises the signal again.
struct sigaction handler_before = {};
void restoring_handler(int signal) {
  sigaction(SIGINT, &handler_before, nullptr);
  std::raise(signal);
}

TEST_F(InterruptGuardTest, LeavesAHandlerThatTheProgramsHandlerInstalled) {
  struct sigaction once = {};
  once.sa_handler = restoring_handler;
  once.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  ASSERT_EQ(sigaction(SIGINT, &once, &handler_before), 0);
  for (int run = 0; run < 2; ++run) {
    CancelSource source;
    const InterruptGuard guard(source);
    std::raise(SIGINT);
    EXPECT_TRUE(source.cancelled());
    EXPECT_EQ(program_handler_calls, run + 1);
  }
  std::raise(SIGINT);
  EXPECT_EQ(program_handler_calls, 3);
}

TEST_F(InterruptGuardTest, RunsAHandlerForOneSignalOnce) {
  struct sigaction once = {};
  once.sa_handler = program_handler;
  once.sa_flags = static_cast<int>(SA_RESETHAND);
  ASSERT_EQ(sigaction(SIGINT, &once, nullptr), 0);
  CancelSource source;
  {
    const InterruptGuard guard(source);
    std::raise(SIGINT);
  }
  struct sigaction present = {};
  ASSERT_EQ(sigaction(SIGINT, nullptr, &present), 0);
  EXPECT_EQ(present.sa_handler, SIG_DFL);
  EXPECT_EQ(program_handler_calls, 1);
}

TEST_F(InterruptGuardTest, LeavesAnIgnoredSignalIgnored) {
  struct sigaction ignored = {};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGINT, &ignored, nullptr), 0);
  CancelSource source;
  const InterruptGuard guard(source);
  std::raise(SIGINT);
  EXPECT_FALSE(source.cancelled());
}

}  // namespace
}  // namespace vectis
