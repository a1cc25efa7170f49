#include "memory/timeline.hpp"

#include <algorithm>

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint64_t notable_divisor = 32;  // a drop by 1/32 of the reserved bytes is recorded

void raise_to(TimelinePoint& point, std::uint64_t reserved, std::uint64_t in_use) {
  point.reserved_bytes = std::max(point.reserved_bytes, reserved);
  point.in_use_bytes = std::max(point.in_use_bytes, in_use);
}

}  // namespace

void Timeline::push(const TimelinePoint& point) {
  if (points_.size() == points_max) {
    for (std::size_t i = 0; i < points_max / 2; ++i) {
      TimelinePoint merged = points_[2 * i];
      raise_to(merged, points_[2 * i + 1].reserved_bytes, points_[2 * i + 1].in_use_bytes);
      points_[i] = merged;
    }
    points_.resize(points_max / 2);
    resolution_ *= 2;
  }
  points_.push_back(point);
}

void Timeline::note_locked(TimePoint now, std::uint64_t in_use, std::uint64_t in_use_before) {
  if (!any_) {
    any_ = true;
    open_ = {now, reserved_, std::max(in_use, in_use_before)};
  } else {
    now = std::max(now, last_);  // another thread may have recorded a later time already
    if (now < open_.time + resolution_) {
      raise_to(open_, reserved_, in_use);
    } else {
      const TimePoint window_end = open_.time + resolution_;
      const bool idle = now - last_ > resolution_;
      push(open_);
      // The idle time after the window shows the bytes left in use, not the window's peak. It starts with the window's
      // end: from last_ on, a window whose only record is a peak would have no width.
      if (idle) push({window_end, reserved_, in_use_before});
      open_ = {now, reserved_, in_use};
    }
  }
  last_ = now;
  bounds_.window_end.store((open_.time + resolution_).time_since_epoch().count(), std::memory_order_relaxed);
  bounds_.highest.store(open_.in_use_bytes, std::memory_order_relaxed);
  const std::uint64_t step = std::max<std::uint64_t>(reserved_ / notable_divisor, 1);
  bounds_.notable_below.store(in_use > step ? in_use - step : std::min<std::uint64_t>(in_use, 1),
                              std::memory_order_relaxed);
}

void Timeline::note(TimePoint now, std::uint64_t in_use, std::uint64_t in_use_before) noexcept {
  const std::lock_guard lock(mutex_);
  note_locked(now, in_use, in_use_before);
}

void Timeline::record_reserved(TimePoint now, std::uint64_t reserved, std::uint64_t in_use) noexcept {
  const std::lock_guard lock(mutex_);
  note_locked(now, in_use, in_use);  // ends the window with the old value
  reserved_ = reserved;
  raise_to(open_, reserved, in_use);
}

std::vector<TimelinePoint> Timeline::points(TimePoint now, std::uint64_t in_use) const {
  const std::lock_guard lock(mutex_);
  std::vector<TimelinePoint> result = points_;
  if (!any_) return result;
  result.push_back(open_);
  now = std::max(now, last_);
  // As in note_locked: the idle time until now shows the bytes left in use, not the peak of the last window.
  if (now - last_ > resolution_) result.push_back({open_.time + resolution_, reserved_, in_use});
  result.push_back({now, reserved_, in_use});
  if (result.size() > points_max + 2) {  // keep the bound: merge the two oldest points
    raise_to(result[0], result[1].reserved_bytes, result[1].in_use_bytes);
    result.erase(result.begin() + 1);
  }
  return result;
}

}  // namespace vectis::inline v0_1::detail
