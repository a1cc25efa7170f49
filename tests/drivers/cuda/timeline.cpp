#include "timeline.hpp"

#include <algorithm>
#include <chrono>

namespace vectis::test_driver {

namespace {

constexpr std::uint64_t copy_nanoseconds = 2000;  // of any copy, besides its bytes
constexpr std::uint64_t bytes_per_nanosecond = 20;

std::uint64_t machine_time() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

}  // namespace

void Timeline::begin(std::uint64_t kernel_nanoseconds) {
  *this = {};
  kernel_nanoseconds_ = kernel_nanoseconds;
  left_ = machine_time();
}

void Timeline::enter() {
  if (kernel_nanoseconds_ == 0) return;
  const std::uint64_t worked = machine_time() - left_;
  host_.push_back({now_, now_ + worked});
  now_ += worked;
}

void Timeline::leave() {
  if (kernel_nanoseconds_ != 0) left_ = machine_time();
}

void Timeline::add(const void* stream, Engine engine, std::uint64_t duration) {
  if (kernel_nanoseconds_ == 0) return;
  const std::uint64_t begin = std::max({now_, stream_ends_[stream], engine_ends_[engine]});
  stream_ends_[stream] = engine_ends_[engine] = begin + duration;
  device_.push_back({begin, begin + duration});
}

void Timeline::copy(const void* stream, Engine engine, std::size_t bytes, bool pageable) {
  add(stream, engine, copy_nanoseconds + bytes / bytes_per_nanosecond);
  if (pageable) wait_until(end_of(stream));
}

void Timeline::wait_until(std::uint64_t time) {
  if (kernel_nanoseconds_ != 0) now_ = std::max(now_, time);
}

void Timeline::delay(const void* stream, std::uint64_t time) {
  stream_ends_[stream] = std::max(stream_ends_[stream], time);
}

// By time, without overlaps.
std::vector<Timeline::Interval> Timeline::device_intervals() const {
  std::vector<Interval> sorted = device_;
  std::ranges::sort(sorted, {}, &Interval::begin);
  std::vector<Interval> joined;
  for (const Interval& next : sorted) {
    if (!joined.empty() && next.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, next.end);
    } else {
      joined.push_back(next);
    }
  }
  return joined;
}

Timeline::Totals Timeline::totals() const {
  const std::vector<Interval> device = device_intervals();
  Totals totals;
  for (const Interval& one : device) totals.device += one.end - one.begin;
  for (const Interval& work : host_) {
    totals.host += work.end - work.begin;
    for (const Interval& one : device) {
      const std::uint64_t begin = std::max(work.begin, one.begin);
      const std::uint64_t end = std::min(work.end, one.end);
      if (begin < end) totals.overlapped += end - begin;
    }
  }
  return totals;
}

}  // namespace vectis::test_driver
