#include "kernel/profiler/ledger.hpp"

#include <algorithm>

namespace vectis::inline v0_1::detail {

std::uint32_t NameTable::number(std::string_view name) {
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  if (names_.size() >= names_max) return 0;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(names_.emplace_back(name), number);
  return number;
}

void Ledger::add(const SpanRecord& record) {
  const bool by_device = record.timed_by == TimedBy::device;
  Sum& sum = sums_[{record.name, record.device, by_device ? ProfileClock::device : ProfileClock::host}];
  if (record.failed) {
    ++sum.failed;
    return;
  }
  const std::uint64_t time =
      by_device ? record.device_end - std::min(record.device_begin, record.device_end) : record.end - record.begin;
  sum.least = sum.calls == 0 ? time : std::min(sum.least, time);
  sum.most = std::max(sum.most, time);
  sum.total += time;
  sum.bytes += record.bytes;
  ++sum.calls;
}

std::uint64_t Ledger::append(const SpanRecord& record) {
  if (record.timed_by != TimedBy::pending) add(record);
  const std::uint64_t place = first_place_ + spans_.size();
  if (capacity_ > 0 && spans_.size() == capacity_) {
    spans_.pop_front();
    ++first_place_;
    ++dropped_;
  }
  if (capacity_ > 0) {
    spans_.push_back(record);
  } else {
    ++first_place_;
  }
  return place;
}

void Ledger::replace(std::uint64_t place, const SpanRecord& record) {
  if (place >= first_place_ && place - first_place_ < spans_.size()) spans_[place - first_place_] = record;
}

void Ledger::timed(std::uint64_t place, SpanRecord record, std::uint64_t device_begin, std::uint64_t device_end) {
  record.timed_by = TimedBy::device;
  record.device_begin = device_begin;
  record.device_end = device_end;
  add(record);
  replace(place, record);
}

void Ledger::untimed(std::uint64_t place, SpanRecord record) {
  record.timed_by = TimedBy::host;
  add(record);
  replace(place, record);
}

void Ledger::append(const SampleRecord& record) {
  if (capacity_ == 0) return;
  if (samples_.size() == capacity_) {
    samples_.pop_front();
    ++dropped_;
  }
  samples_.push_back(record);
}

void Ledger::clear() {
  first_place_ += spans_.size();
  spans_.clear();
  samples_.clear();
  sums_.clear();
  dropped_ = 0;
}

}  // namespace vectis::inline v0_1::detail
