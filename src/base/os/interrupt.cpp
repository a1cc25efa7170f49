#include "vectis/base/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace vectis::inline v0_1 {
namespace {

// Written by the thread of the guards, read by the handler in any thread.
std::atomic<const CancelSource*> interrupted_source{nullptr};
struct sigaction program_action = {};  // of SIGINT, before the outermost guard

extern "C" void cancel_and_continue(int signal, siginfo_t* info, void* machine_context) {
  if (const CancelSource* source = interrupted_source.load(std::memory_order_acquire)) {
    const_cast<CancelSource*>(source)->cancel();  // an atomic store, which signal handlers may do
  }
  if ((program_action.sa_flags & SA_RESETHAND) != 0) {  // as the kernel would have done
    struct sigaction once = {};
    once.sa_handler = SIG_DFL;
    sigaction(SIGINT, &once, nullptr);
  }
  if ((program_action.sa_flags & SA_SIGINFO) != 0) {
    program_action.sa_sigaction(signal, info, machine_context);
  } else {
    program_action.sa_handler(signal);
  }
}

// Returns whether the program handles SIGINT, and puts our handler in front of its own.
bool put_handler_in_front() noexcept {
  if (sigaction(SIGINT, nullptr, &program_action) != 0) return false;
  if (program_action.sa_handler == SIG_DFL || program_action.sa_handler == SIG_IGN) return false;
  struct sigaction ours = program_action;
  ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
  ours.sa_sigaction = cancel_and_continue;
  return sigaction(SIGINT, &ours, nullptr) == 0;
}

// Restores the handler of the program, unless it has installed another meanwhile: LLVM's handler, which OpenCL drivers
// bring, does so when a signal arrives.
void restore_handler() noexcept {
  struct sigaction present = {};
  if (sigaction(SIGINT, &program_action, &present) != 0) return;
  const bool is_ours = (present.sa_flags & SA_SIGINFO) != 0 && present.sa_sigaction == cancel_and_continue;
  if (!is_ours) sigaction(SIGINT, &present, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard(const CancelSource& source) noexcept
    : outer_(interrupted_source.load(std::memory_order_relaxed)) {
  interrupted_source.store(&source, std::memory_order_release);
  listens_ = outer_ != nullptr || put_handler_in_front();
  if (!listens_) interrupted_source.store(nullptr, std::memory_order_relaxed);
}

InterruptGuard::~InterruptGuard() {
  if (!listens_) return;
  if (outer_ == nullptr) restore_handler();
  interrupted_source.store(outer_, std::memory_order_release);
}

}  // namespace vectis::inline v0_1
