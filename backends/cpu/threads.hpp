// The host's threads, as operations use them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "vectis/device/backend.h"

namespace vectis::cpu {

// Bytes that one core moves in about the time it takes to wake another: pieces below it stay together.
inline constexpr std::uint64_t piece_bytes = std::uint64_t{256} * 1024;

// Immutable; the host outlives it. A host without threads (older than 1.1) runs everything in the calling thread.
class Threads {
 public:
  Threads() = default;
  explicit Threads(const VectisHost* host) noexcept : host_(has_threads(host) ? host : nullptr) {}

  [[nodiscard]] const VectisHost* host() const noexcept { return host_; }
  [[nodiscard]] std::uint32_t count() const {
    return host_ == nullptr ? 1U : std::max(host_->thread_count(host_->state), std::uint32_t{1});
  }

  // body(begin, end) for disjoint ranges that cover [0, count), of at least `grain` but the last. It must not throw.
  template <class Body>
  void parallel_for(std::uint64_t count, std::uint64_t grain, const Body& body) const {
    if (count == 0) return;
    if (host_ == nullptr || count <= grain) return body(std::uint64_t{0}, count);
    const auto call = [](void* argument, std::uint64_t begin, std::uint64_t end) {
      (*static_cast<const Body*>(argument))(begin, end);
    };
    host_->parallel_for(host_->state, count, grain, call, const_cast<Body*>(&body));
  }

  // body(worker, item) for every item of [0, items) by `workers` callers at once, each with a number of its own: for
  // items that need a workspace. Which worker does an item is open, so the result must not depend on it.
  template <class Body>
  void work_through(std::uint64_t items, std::uint64_t workers, const Body& body) const {
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
