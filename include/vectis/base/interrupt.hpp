// Cancelling a call by Ctrl-C in a program that handles the signal itself, such as a Python interpreter.
#pragma once

#include <memory>

#include "vectis/base/context.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// What SIGINT does: cancels `source`, unless it is null. Every byte is passed on to the file descriptor `forward`,
// unless that is negative.
struct InterruptTarget {
  const CancelSource* source = nullptr;
  int forward = -1;
};

// Cancels a call at Ctrl-C. The program's own signal handler writes the number of each signal as one byte to
// descriptor(), as that of Python does after signal.set_wakeup_fd; a thread of the watcher waits for these bytes.
// Handlers are left alone: a handler of our own in front of others would break those that restore their predecessor,
// such as LLVM's, which OpenCL drivers bring. Thread-safe.
//
//   const InterruptTarget before = watcher.watch({&source, -1});
//   index->add(vectors, Context{}.with_cancel(source));   // throws Cancelled after Ctrl-C
//   watcher.watch(before);
class VECTIS_API InterruptWatcher {
 public:
  // Starts the thread. Throws Io when the system has no pipe left, and std::system_error when it has no thread left.
  InterruptWatcher();
  // Ends the thread. No handler may write to descriptor() any more.
  ~InterruptWatcher();
  InterruptWatcher(const InterruptWatcher&) = delete;
  InterruptWatcher& operator=(const InterruptWatcher&) = delete;

  // Returns the file descriptor that the program's handler writes to; writing never blocks. Does not throw.
  [[nodiscard]] int descriptor() const noexcept;
  // Makes `target` what a signal does from now on, and returns what it did before. When the call returns, the watcher
  // does not use the former source any more. Does not throw.
  InterruptTarget watch(InterruptTarget target) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vectis::inline v0_1
