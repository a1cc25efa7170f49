// What a Recorder gives out: rows, and everything a trace needs.
#include <algorithm>
#include <tuple>

#include "kernel/profiler/recorder.hpp"

namespace vectis::inline v0_1::detail {

namespace {

Duration nanoseconds(std::uint64_t count) { return Duration{static_cast<Duration::rep>(count)}; }

}  // namespace

ProfileFrame Recorder::frame_at(std::uint64_t now) const {
  return {origin_, looked(now), options_.capacity,
          ProfileLosses{ledger_.dropped() + lost_.load(), untimed_, renamed_, sink_failures_.load()}};
}

ProfileFrame Recorder::frame() const {
  const std::lock_guard lock(mutex_);
  return frame_at(now_());
}

std::vector<ProfileRow> Recorder::rows() {
  settle(true);
  std::vector<ProfileRow> rows;
  const std::lock_guard lock(mutex_);
  rows.reserve(ledger_.sums().size());
  for (const auto& [key, sum] : ledger_.sums()) {
    rows.push_back({std::string(names_.name(key.name)), std::string(label(key.device)), key.clock, sum.calls,
                    sum.failed, nanoseconds(sum.total), nanoseconds(sum.least), nanoseconds(sum.most), sum.bytes});
  }
  std::sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return std::tie(b.total, a.name, a.device, a.clock) < std::tie(a.total, b.name, b.device, b.clock);
  });
  return rows;
}

ProfileCopy Recorder::copy() {
  const std::uint64_t now = now_();
  if (looking()) sample(now, true);
  settle(true);
  const std::map<int, DeviceClock> clocks = times_.clocks();
  ProfileCopy copy;
  const std::lock_guard lock(mutex_);
  copy.spans.assign(ledger_.spans().begin(), ledger_.spans().end());
  copy.samples.assign(ledger_.samples().begin(), ledger_.samples().end());
  for (SpanRecord& span : copy.spans) {
    if (span.timed_by != TimedBy::device) continue;
    const HostTimes times = host_times(clocks, span, span.device_begin, span.device_end);
    span.device_begin = times.begin;
    span.device_end = times.end;
  }
  for (const auto& [id, thread] : threads_) {
    for (const OpenRange& range : thread.open) {
      if (!range.seen) continue;
      SpanRecord& span = copy.spans.emplace_back(range.record);
      span.open = true;
      span.end = std::max(now, span.begin);
    }
  }
  copy.names = names_.all();
  copy.device_labels = device_labels_;
  copy.device_names = device_names_;
  copy.frame = frame_at(now);
  return copy;
}

}  // namespace vectis::inline v0_1::detail
