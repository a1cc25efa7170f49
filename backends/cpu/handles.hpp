// The structs behind the CPU's handles, and the host's threads as operations use them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "backends/cpu/onednn.hpp"
#include "vectis/device/backend.h"

namespace vectis::cpu {

// Work on fewer bytes than this is not split between threads: about what one core copies in the time it takes to wake
// another.
inline constexpr std::uint64_t grain_bytes = std::uint64_t{256} * 1024;

// Runs loops on the host's threads. Without a host, or with one older than ABI 1.1, loops run in the calling thread.
// Immutable and thread-safe; the host must outlive this object.
class Threads {
 public:
  Threads() = default;
  // Uses the threads of `host`, which may be null and must outlive this object. Does not throw.
  explicit Threads(const VectisHost* host) noexcept : host_(has_threads(host) ? host : nullptr) {}

  // Returns the host whose threads run the loops, or null when loops run in the calling thread. Does not throw.
  [[nodiscard]] const VectisHost* host() const noexcept { return host_; }
  // Returns how many threads parallel_for uses at most: at least 1, and 1 without a host.
  [[nodiscard]] std::uint32_t count() const {
    return host_ == nullptr ? 1U : std::max(host_->thread_count(host_->state), std::uint32_t{1});
  }

  // Calls body(begin, end) for disjoint ranges that cover [0, count), each but the last of at least `grain`, and
  // returns when all calls have returned. Calls nothing when `count` is 0. Precondition: several threads can call
  // `body` at once. Rethrows the first exception of `body` after the other calls have returned: the host is behind a C
  // boundary, which no exception may cross.
  template <class Body>
  void parallel_for(std::uint64_t count, std::uint64_t grain, const Body& body) const {
    if (count == 0) return;
    if (host_ == nullptr || count <= grain) return body(std::uint64_t{0}, count);
    struct Loop {
      const Body& body;
      std::atomic<bool> has_failed{false};
      std::exception_ptr failure{};  // written by the thread that sets has_failed
    } loop{body};
    const auto call = [](void* argument, std::uint64_t begin, std::uint64_t end) noexcept {
      auto& running = *static_cast<Loop*>(argument);
      try {
        running.body(begin, end);
      } catch (...) {
        if (!running.has_failed.exchange(true)) running.failure = std::current_exception();
      }
    };
    host_->parallel_for(host_->state, count, grain, call, &loop);
    if (loop.failure != nullptr) std::rethrow_exception(loop.failure);
  }

  // Calls body(worker, item) once for every item of [0, items) from up to `workers` threads. No two threads share a
  // worker index, so each worker can own a workspace. Preconditions: `workers` is at least 1 (0 processes nothing), and
  // no result depends on the worker, because items are assigned dynamically. Rethrows the first exception of `body`.
  template <class Body>
  void for_each_item(std::uint64_t items, std::uint64_t workers, const Body& body) const {
    std::atomic<std::uint64_t> next{0};
    parallel_for(workers, 1, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t worker = begin; worker < end; ++worker) {
        for (std::uint64_t item = next++; item < items; item = next++) body(worker, item);
      }
    });
  }

 private:
  // Returns whether `host` is not null and has the thread functions that ABI 1.1 appended.
  static bool has_threads(const VectisHost* host) noexcept {
    return host != nullptr && host->size >= offsetof(VectisHost, thread_count) + sizeof(host->thread_count);
  }

  const VectisHost* host_ = nullptr;
};

}  // namespace vectis::cpu

// The state of the open CPU backend: the host's threads, and oneDNN. The host must outlive it.
struct VectisBackendState {
  explicit VectisBackendState(const VectisHost* host) : threads(host), onednn(host) {}
  const vectis::cpu::Threads threads;
  vectis::cpu::OneDnn onednn;
};
// A context of the CPU. `state` is the backend that created it and outlives it.
struct VectisContext {
  VectisBackendState* state;
};
// A stream of the CPU, which executes work at once in the calling thread. `state` outlives it.
struct VectisStream {
  VectisBackendState* state;
};
// Host memory that serves as device memory. A slice refers to bytes of another memory, which must outlive it.
struct VectisMemory {
  std::byte* bytes;
  bool is_slice;  // the bytes belong to another memory
};
// The host's monotonic time at the last record of an event, 0 before the first. Thread-safe.
struct VectisEvent {
  std::atomic<std::uint64_t> nanoseconds{0};
};
