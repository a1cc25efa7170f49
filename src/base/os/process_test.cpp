#include "base/os/process.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>

namespace vectis {
namespace {

using namespace std::chrono_literals;
using End = ProcessResult::End;

ProcessResult shell(const std::string& script, Duration limit = 60s) {
  return run_process({"/bin/sh", "-c", script}, limit);
}

TEST(Process, ReportsOutputErrorAndStatus) {
  const ProcessResult result = shell("printf out; printf err >&2; exit 7");
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(result.output, "out");
  EXPECT_EQ(result.error, "err");
}

TEST(Process, ArgumentsArePassedUnchanged) {
  const ProcessResult result = run_process({"printf", "%s|", "a b", "", "$HOME", "'\""}, 60s);
  EXPECT_EQ(result.output, "a b||$HOME|'\"|");
}

TEST(Process, ReportsTheSignalThatKilledIt) {
  const ProcessResult result = shell("printf before; kill -SEGV $$");
  EXPECT_EQ(result.end, End::killed);
  EXPECT_EQ(result.code, SIGSEGV);
  EXPECT_EQ(result.output, "before");
}

TEST(Process, AMissingProgramIsNotStarted) {
  const ProcessResult result = run_process({"/nowhere/program"}, 60s);
  EXPECT_EQ(result.end, End::not_started);
  EXPECT_EQ(result.code, ENOENT);
  EXPECT_EQ(run_process({testing::TempDir()}, 60s).code, EACCES);
  EXPECT_EQ(run_process({}, 60s).end, End::not_started);
}

TEST(Process, IsKilledAtItsLimitWithItsChildren) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = shell("printf early; sleep 1000 & wait", 1s);
  EXPECT_EQ(result.end, End::timed_out);
  EXPECT_EQ(result.code, SIGKILL);
  EXPECT_EQ(result.output, "early");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

TEST(Process, AZeroLimitKillsImmediately) {
  EXPECT_EQ(run_process({"sleep", "1000"}, 0s).end, End::timed_out);
  EXPECT_EQ(run_process({"sleep", "1000"}, -1s).end, End::timed_out);
}

TEST(Process, EndsWhenAGrandchildKeepsThePipeOpen) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = shell("sleep 20 & printf done");
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.output, "done");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST(Process, WaitsForAChildThatClosedItsOutput) {
  const ProcessResult result = shell("exec >&- 2>&-; sleep 0.05; exit 3");
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.code, 3);
}

TEST(Process, OutputBeyondOneMebibyteIsDiscarded) {
  const ProcessResult result = shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 4");
  EXPECT_EQ(result.code, 4);
  EXPECT_EQ(result.output.size(), std::size_t{1} << 20);
  EXPECT_EQ(result.error.size(), std::size_t{1} << 20);
}

TEST(Process, HasEmptyInput) { EXPECT_EQ(shell("cat; printf end").output, "end"); }

TEST(Process, HasDefaultSignals) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  // A shell cannot trap what was ignored when it started, so the trap shows that it was not.
  EXPECT_EQ(shell("trap 'printf trapped' PIPE; kill -PIPE $$").output, "trapped");
  std::signal(SIGPIPE, before);
}

TEST(Process, ReturnsTheOutputWhenSigchldIsIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const ProcessResult result = shell("printf out");
  std::signal(SIGCHLD, before);
  EXPECT_EQ(result.end, End::exited);
  EXPECT_EQ(result.output, "out");
}

TEST(Process, LeaksNoDescriptor) {
  const auto count = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = count();
  for (int i = 0; i < 5; ++i) {
    shell("printf x");
    run_process({"/nowhere/program"}, 60s);
  }
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace vectis
