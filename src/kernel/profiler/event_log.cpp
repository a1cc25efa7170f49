#include "kernel/profiler/event_log.hpp"

#include <algorithm>

namespace vectis::inline v0_1::detail {

std::uint32_t StringTable::intern(std::string_view name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  if (names_.size() >= names_max) return 0;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(names_.emplace_back(name), number);
  return number;
}

void EventLog::add(const SpanRecord& record) {
  const bool by_device = record.time_source == TimeSource::device;
  Aggregate& sum = aggregates_[{record.name, record.device, by_device ? ProfileClock::device : ProfileClock::host}];
  if (record.failed) {
    ++sum.failed;
    return;
  }
  const std::uint64_t time =
      by_device ? record.device_end - std::min(record.device_begin, record.device_end) : record.end - record.begin;
  sum.min = sum.calls == 0 ? time : std::min(sum.min, time);
  sum.max = std::max(sum.max, time);
  sum.total += time;
  sum.bytes += record.bytes;
  ++sum.calls;
}

std::uint64_t EventLog::append(const SpanRecord& record) {
  if (record.time_source != TimeSource::pending) add(record);
  const std::uint64_t sequence = first_sequence_ + spans_.size();
  if (capacity_ > 0 && spans_.size() == capacity_) {
    spans_.pop_front();
    ++first_sequence_;
    ++dropped_;
  }
  if (capacity_ > 0) {
    spans_.push_back(record);
  } else {
    ++first_sequence_;
  }
  return sequence;
}

void EventLog::replace(std::uint64_t sequence, const SpanRecord& record) {
  if (sequence >= first_sequence_ && sequence - first_sequence_ < spans_.size())
    spans_[sequence - first_sequence_] = record;
}

void EventLog::timed(std::uint64_t sequence, SpanRecord record, std::uint64_t device_begin, std::uint64_t device_end) {
  record.time_source = TimeSource::device;
  record.device_begin = device_begin;
  record.device_end = device_end;
  add(record);
  replace(sequence, record);
}

void EventLog::untimed(std::uint64_t sequence, SpanRecord record) {
  record.time_source = TimeSource::host;
  add(record);
  replace(sequence, record);
}

void EventLog::append(const SampleRecord& record) {
  if (capacity_ == 0) return;
  if (samples_.size() == capacity_) {
    samples_.pop_front();
    ++dropped_;
  }
  samples_.push_back(record);
}

void EventLog::clear() {
  first_sequence_ += spans_.size();
  spans_.clear();
  samples_.clear();
  aggregates_.clear();
  dropped_ = 0;
}

}  // namespace vectis::inline v0_1::detail
