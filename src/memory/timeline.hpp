// Reserved and in-use bytes of a pool over time, in a bounded number of points.
//
// A point covers the time until the next point and stores the maxima of that window. When the timeline is full,
// neighbors are merged in pairs and keep their maxima: old times lose resolution, but no peak is lost. Most acquires
// and releases only compare with three atomics; the lock is taken when a window ends, a new peak is reached or in-use
// bytes drop a lot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "vectis/base/time.hpp"
#include "vectis/memory/snapshot.hpp"

namespace vectis::inline v0_1::detail {

// Reserved and in-use bytes of a pool over time, in at most points_max windows that keep their maxima. Thread-safe.
class Timeline {
 public:
  static constexpr std::size_t points_max = 4096;
  static constexpr Duration first_resolution = std::chrono::microseconds(100);

  Timeline() { points_.reserve(points_max); }

  // Records that in-use bytes rose by `added`, which is at most `in_use`, to `in_use`. Takes the lock only when a
  // window ends or a new peak is reached. Does not throw.
  void record_rise(TimePoint now, std::uint64_t in_use, std::uint64_t added) noexcept {
    const bool quiet = now.time_since_epoch().count() < bounds_.window_end.load(std::memory_order_relaxed) &&
                       in_use <= bounds_.highest.load(std::memory_order_relaxed);
    if (!quiet) note(now, in_use, in_use - added);
  }
  // Returns whether a drop to `in_use` bytes is large enough to read the clock and call record_drop. Does not throw.
  [[nodiscard]] bool is_notable_drop(std::uint64_t in_use) const noexcept {
    return in_use < bounds_.notable_below.load(std::memory_order_relaxed);
  }
  // Records that in-use bytes dropped by `removed` to `in_use`. Call it only after is_notable_drop(in_use), to save
  // time.
  void record_drop(TimePoint now, std::uint64_t in_use, std::uint64_t removed) noexcept {
    note(now, in_use, in_use + removed);
  }
  // Records that the bytes held from the device changed to `reserved`, while `in_use` bytes are in use. Does not
  // throw.
  void record_reserved(TimePoint now, std::uint64_t reserved, std::uint64_t in_use) noexcept;

  // Returns the points, oldest first and at most points_max + 2; the last one is the state at `now` with `in_use`
  // in-use bytes. Returns nothing before the first record.
  [[nodiscard]] std::vector<TimelinePoint> points(TimePoint now, std::uint64_t in_use) const;

 private:
  void note(TimePoint now, std::uint64_t in_use, std::uint64_t in_use_before) noexcept;
  void note_locked(TimePoint now, std::uint64_t in_use, std::uint64_t in_use_before);
  void push(const TimelinePoint& point);

  mutable std::mutex mutex_;
  std::vector<TimelinePoint> points_;
  TimelinePoint open_{};  // the current window: start and maxima
  TimePoint last_{};      // time of the latest record
  bool any_ = false;
  std::uint64_t reserved_ = 0;
  Duration resolution_ = first_resolution;

  // Limits that the fast path compares with; written under the lock. On a cache line of their own.
  struct alignas(64) Bounds {
    std::atomic<Duration::rep> window_end{0};
    std::atomic<std::uint64_t> highest{0};
    std::atomic<std::uint64_t> notable_below{0};
  };
  Bounds bounds_;
};

}  // namespace vectis::inline v0_1::detail
