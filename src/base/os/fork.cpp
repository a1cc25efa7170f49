#include <pthread.h>

#include <atomic>

#include "vectis/base/os.hpp"

namespace vectis::inline v0_1 {

namespace {

std::atomic<std::uint64_t> generation{0};

void count_fork() noexcept { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::uint64_t fork_generation() noexcept {
  // The first call registers; whoever compares generations called it before the fork.
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace vectis::inline v0_1
