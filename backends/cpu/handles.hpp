// The structs behind the CPU's handles, and the host's threads as operations use them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/onednn.hpp"
#include "vectis/device/backend.h"

namespace vectis::cpu {

// About what one core copies in the time it takes to wake another; less work than this is not split.
inline constexpr std::uint64_t grain_bytes = std::uint64_t{256} * 1024;

// The host's threads. With a host that has none (older than 1.1) everything runs in the calling thread. Immutable; the
// host must outlive it.
class Threads {
 public:
  Threads() = default;
  explicit Threads(const VectisHost* host) noexcept : host_(has_threads(host) ? host : nullptr) {}

  [[nodiscard]] const VectisHost* host() const noexcept { return host_; }
  [[nodiscard]] std::uint32_t count() const {
    return host_ == nullptr ? 1U : std::max(host_->thread_count(host_->state), std::uint32_t{1});
  }

  // Calls body(begin, end) for disjoint ranges that cover [0, count), each but the last of at least `grain`. The body
  // must not throw.
  template <class Body>
  void parallel_for(std::uint64_t count, std::uint64_t grain, const Body& body) const {
    if (count == 0) return;
    if (host_ == nullptr || count <= grain) return body(std::uint64_t{0}, count);
    const auto call = [](void* argument, std::uint64_t begin, std::uint64_t end) {
      (*static_cast<const Body*>(argument))(begin, end);
    };
    host_->parallel_for(host_->state, count, grain, call, const_cast<Body*>(&body));
  }

  // Calls body(worker, item) for every item of [0, items) from `workers` threads, each with its own worker index, so
  // that a worker can have a workspace. Items are assigned dynamically: the result must not depend on the worker.
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
  static bool has_threads(const VectisHost* host) noexcept {
    return host != nullptr && host->size >= offsetof(VectisHost, thread_count) + sizeof(host->thread_count);
  }

  const VectisHost* host_ = nullptr;
};

}  // namespace vectis::cpu

struct VectisBackendState {
  explicit VectisBackendState(const VectisHost* host) : threads(host), onednn(host) {}
  const vectis::cpu::Threads threads;
  vectis::cpu::OneDnn onednn;
};
struct VectisContext {
  VectisBackendState* state;
};
struct VectisStream {
  VectisBackendState* state;
};
struct VectisMemory {
  std::byte* bytes;
  bool is_slice;  // the bytes belong to another memory
};
struct VectisEvent {
  std::atomic<std::uint64_t> nanoseconds{0};
};
