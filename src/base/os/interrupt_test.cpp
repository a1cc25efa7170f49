#include "vectis/base/interrupt.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace vectis {
namespace {

using namespace std::chrono_literals;

// What the handler of a program does.
void send(const InterruptWatcher& watcher, int signal) {
  const auto byte = static_cast<unsigned char>(signal);
  ASSERT_EQ(write(watcher.descriptor(), &byte, 1), 1);
}

// Waits until the watcher has handled all bytes sent before: a further byte arrives at the end of a pipe.
void wait_for_bytes(InterruptWatcher& watcher) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const InterruptTarget before = watcher.watch({nullptr, ends[1]});
  send(watcher, SIGUSR1);
  unsigned char byte = 0;
  while (byte != SIGUSR1) ASSERT_EQ(read(ends[0], &byte, 1), 1);
  watcher.watch(before);
  for (const int end : ends) close(end);
}

void wait_until_cancelled(const CancelSource& source) {
  for (int i = 0; i < 2000 && !source.cancelled(); ++i) std::this_thread::sleep_for(5ms);
}

TEST(InterruptWatcherConcurrent, CancelsTheSource) {
  InterruptWatcher watcher;
  CancelSource source;
  watcher.watch({&source, -1});
  EXPECT_FALSE(source.cancelled());
  send(watcher, SIGINT);
  wait_until_cancelled(source);
  EXPECT_TRUE(source.cancelled());
}

TEST(InterruptWatcherConcurrent, OtherSignalsCancelNothing) {
  InterruptWatcher watcher;
  CancelSource source;
  watcher.watch({&source, -1});
  send(watcher, SIGTERM);
  send(watcher, SIGINT);
  wait_until_cancelled(source);
  CancelSource next;
  watcher.watch({&next, -1});
  send(watcher, SIGTERM);
  wait_for_bytes(watcher);
  EXPECT_TRUE(source.cancelled());
  EXPECT_FALSE(next.cancelled());
}

TEST(InterruptWatcherConcurrent, RestoresTheTargetBefore) {
  InterruptWatcher watcher;
  CancelSource outer;
  CancelSource inner;
  watcher.watch({&outer, 7});
  const InterruptTarget before = watcher.watch({&inner, -1});
  EXPECT_EQ(before.source, &outer);
  EXPECT_EQ(before.forward, 7);
  send(watcher, SIGINT);
  wait_until_cancelled(inner);
  EXPECT_FALSE(outer.cancelled());
  watcher.watch({&outer, -1});
  send(watcher, SIGINT);
  wait_until_cancelled(outer);
  EXPECT_TRUE(inner.cancelled());
  EXPECT_TRUE(outer.cancelled());
}

TEST(InterruptWatcherConcurrent, PassesBytesOn) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  InterruptWatcher watcher;
  watcher.watch({nullptr, ends[1]});
  send(watcher, SIGTERM);
  unsigned char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, SIGTERM);
  watcher.watch({});
  for (const int end : ends) close(end);
}

TEST(InterruptWatcherConcurrent, DoesNotUseASourceThatWasReplaced) {
  InterruptWatcher watcher;
  for (int i = 0; i < 2000; ++i) {
    const CancelSource source;
    watcher.watch({&source, -1});
    if (i % 3 == 0) send(watcher, SIGINT);
    watcher.watch({});
  }
  wait_for_bytes(watcher);
}

}  // namespace
}  // namespace vectis
