#include "vectis/base/interrupt.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <thread>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

struct InterruptWatcher::State {
  std::array<int, 2> pipe{-1, -1};  // the end that is read, and the end that is written
  std::mutex mutex;
  InterruptTarget target;  // guarded by mutex
  std::thread thread;

  // Ends when the written end is closed.
  void run() {
    unsigned char signal = 0;
    for (;;) {
      const ssize_t got = read(pipe[0], &signal, 1);
      if (got == 0 || (got < 0 && errno != EINTR)) return;
      if (got == 1) handle(signal);
    }
  }

  void handle(unsigned char signal) {
    const std::lock_guard lock(mutex);
    if (signal == SIGINT && target.source != nullptr) CancelSource(*target.source).cancel();
    // A full pipe has bytes that wake its reader up already.
    if (target.forward >= 0) static_cast<void>(!write(target.forward, &signal, 1));
  }
};

InterruptWatcher::InterruptWatcher() : state_(std::make_unique<State>()) {
  if (pipe2(state_->pipe.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::io, "InterruptWatcher",
                fmt::format("cannot make a pipe: error {}; close files, or raise the limit of open files", errno));
  }
  fcntl(state_->pipe[1], F_SETFL, O_NONBLOCK);
  try {
    state_->thread = std::thread([state = state_.get()] { state->run(); });
  } catch (...) {
    for (const int end : state_->pipe) close(end);
    throw;
  }
}

InterruptWatcher::~InterruptWatcher() {
  close(state_->pipe[1]);
  state_->thread.join();
  close(state_->pipe[0]);
}

int InterruptWatcher::descriptor() const noexcept { return state_->pipe[1]; }

InterruptTarget InterruptWatcher::watch(InterruptTarget target) noexcept {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->target, target);
}

}  // namespace vectis::inline v0_1
