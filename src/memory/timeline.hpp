// How much a pool held and used over its life, in a bounded number of points.
//
// A point holds from its time to the next one's and carries the most that was held and used meanwhile. Full, it merges
// neighbours two by two and keeps their maxima: old times lose detail, never a peak. Most acquires and releases only
// compare three numbers; the lock is taken when a window ends, a new peak is reached or much was given back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "vectis/base/time.hpp"
#include "vectis/memory/snapshot.hpp"

namespace vectis::inline v0_1::detail {

// Thread-safe.
class Timeline {
 public:
  static constexpr std::size_t points_max = 4096;
  static constexpr Duration first_resolution = std::chrono::microseconds(100);

  Timeline() { points_.reserve(points_max); }

  // In-use bytes rose to `in_use`, `added` of them just now.
  void rose(TimePoint now, std::uint64_t in_use, std::uint64_t added) noexcept {
    const bool quiet = now.time_since_epoch().count() < bounds_.window_end.load(std::memory_order_relaxed) &&
                       in_use <= bounds_.highest.load(std::memory_order_relaxed);
    if (!quiet) note(now, in_use, in_use - added);
  }
  // Whether a fall to `in_use` is worth asking the time and calling `fell`.
  [[nodiscard]] bool is_notable_fall(std::uint64_t in_use) const noexcept {
    return in_use < bounds_.notable_below.load(std::memory_order_relaxed);
  }
  void fell(TimePoint now, std::uint64_t in_use, std::uint64_t removed) noexcept {
    note(now, in_use, in_use + removed);
  }
  // The bytes held of the device changed.
  void held(TimePoint now, std::uint64_t reserved, std::uint64_t in_use) noexcept;

  // Oldest first, at most points_max + 2, ending with what is now.
  [[nodiscard]] std::vector<TimelinePoint> points(TimePoint now, std::uint64_t in_use) const;

 private:
  void note(TimePoint now, std::uint64_t in_use, std::uint64_t in_use_before) noexcept;
  void note_locked(TimePoint now, std::uint64_t in_use, std::uint64_t in_use_before);
  void push(const TimelinePoint& point);

  mutable std::mutex mutex_;
  std::vector<TimelinePoint> points_;
  TimelinePoint open_{};  // the window under way: its begin and its maxima
  TimePoint last_{};      // the latest note
  bool any_ = false;
  std::uint64_t reserved_ = 0;
  Duration resolution_ = first_resolution;

  // What the fast path compares with; changed under the lock, and on a cache line that nothing else changes.
  struct alignas(64) Bounds {
    std::atomic<Duration::rep> window_end{0};
    std::atomic<std::uint64_t> highest{0};
    std::atomic<std::uint64_t> notable_below{0};
  };
  Bounds bounds_;
};

}  // namespace vectis::inline v0_1::detail
