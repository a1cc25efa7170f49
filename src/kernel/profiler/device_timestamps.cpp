#include "kernel/profiler/device_timestamps.hpp"

#include <algorithm>
#include <cmath>
#include <exception>

#include "device/cores.hpp"
#include "vectis/base/error.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr int attempts = 5;
constexpr double rate_error_max = 1e-3;  // oscillators differ by about 1e-4 at most
constexpr std::uint64_t interval_min =
    10'000'000;  // nanoseconds; below it, the uncertainty of a sample exceeds the drift

std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }

}  // namespace

std::optional<ClockSample> sample_clocks(const DeviceContext& context, const HostClock& now) noexcept {
  std::optional<ClockSample> best;
  try {
    Stream stream(context);
    const Event event(context);
    for (int i = 0; i < attempts; ++i) {
      const std::uint64_t before = now();
      stream.record(event);
      event.synchronize();
      const std::uint64_t after = now();
      const auto device = event.timestamp();
      if (!device) return std::nullopt;
      const ClockSample point{static_cast<std::uint64_t>(device->count()), before + (after - before) / 2,
                              (after - before + 1) / 2};
      if (!best || point.uncertainty < best->uncertainty) best = point;
    }
  } catch (const std::exception&) {  // a failing device fails the caller's own calls too, which report the error
    return std::nullopt;
  }
  return best;
}

void DeviceClock::add(const ClockSample& point) {
  if (!first_) {
    first_ = point;
    return;
  }
  if (point.device < first_->device || point.device - first_->device < interval_min) return;
  const double rate =
      static_cast<double>(point.host - first_->host) / static_cast<double>(point.device - first_->device);
  if (std::abs(rate - 1.0) <= rate_error_max) rate_ = rate;
}

std::uint64_t DeviceClock::to_host(std::uint64_t device) const noexcept {
  const auto away =
      static_cast<std::uint64_t>(std::llround(static_cast<double>(difference(device, first_->device)) * rate_));
  if (device >= first_->device) return first_->host + away;
  return first_->host - std::min(away, first_->host);
}

namespace {

// The timestamps of finished work; empty if the device has none.
std::optional<std::pair<std::uint64_t, std::uint64_t>> times_of(const EventPair& events) noexcept {
  try {
    const auto begin = events.start.timestamp();
    const auto end = events.stop.timestamp();
    if (!begin || !end) return std::nullopt;
    return std::pair(static_cast<std::uint64_t>(begin->count()), static_cast<std::uint64_t>(end->count()));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// True once the work has completed or failed.
bool finished(const EventPair& events, bool wait) noexcept {
  try {
    if (wait) events.stop.synchronize();
    return events.stop.completed();
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

HostTimes host_times(const std::map<int, DeviceClock>& clocks, const SpanRecord& record, std::uint64_t device_begin,
                     std::uint64_t device_end) {
  const auto found = clocks.find(record.device);
  if (found == clocks.end() || !found->second.synchronized()) {
    return {record.begin, record.begin + (device_end - std::min(device_begin, device_end))};
  }
  const std::uint64_t begin = std::max(found->second.to_host(device_begin), record.begin);
  return {begin, std::max(found->second.to_host(device_end), begin)};
}

Event DeviceTimestamps::event_for(const std::shared_ptr<ContextCore>& context) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = idle_.find(context.get()); found != idle_.end()) {
      Event event = std::move(found->second.back());
      found->second.pop_back();
      if (found->second.empty()) idle_.erase(found);
      --idle_count_;
      return event;
    }
  }
  return Event{DeviceContext{context}};
}

void DeviceTimestamps::synchronize(const std::shared_ptr<ContextCore>& context) {
  const int device = context->device->id;
  {
    const std::lock_guard lock(mutex_);
    contexts_.insert_or_assign(device, DeviceContext{context});
    if (clocks_.contains(device)) return;
    clocks_.emplace(device, DeviceClock{});
  }
  const auto point = sample_clocks(DeviceContext{context}, now_);
  const std::lock_guard lock(mutex_);
  if (point) clocks_[device].add(*point);
}

void DeviceTimestamps::resynchronize() {
  std::map<int, DeviceContext> contexts;
  {
    const std::lock_guard lock(mutex_);
    contexts = contexts_;
  }
  for (const auto& [device, context] : contexts) {
    const auto point = sample_clocks(context, now_);
    const std::lock_guard lock(mutex_);
    if (point) clocks_[device].add(*point);
  }
}

std::optional<EventPair> DeviceTimestamps::before(const StreamCore& stream) noexcept {
  if (!stream.context->device->info.capabilities.timestamps) return std::nullopt;
  try {
    synchronize(stream.context);
    {
      const std::lock_guard lock(mutex_);
      if (pending_count_ >= pending_max) return std::nullopt;
    }
    EventPair events{event_for(stream.context), event_for(stream.context)};
    record_event(stream, *events.start.core());
    return events;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool DeviceTimestamps::after(const StreamCore& stream, const EventPair& events) noexcept {
  try {
    record_event(stream, *events.stop.core());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void DeviceTimestamps::add(const StreamCore& stream, PendingWork work) {
  const std::lock_guard lock(mutex_);
  pending_[{stream.context->device->backend.get(), stream.number}].push_back(std::move(work));
  ++pending_count_;
}

void DeviceTimestamps::recycle(EventPair events) {
  const std::lock_guard lock(mutex_);
  if (idle_count_ + 2 > idle_max) return;
  std::vector<Event>& idle = idle_[events.start.core()->context.get()];
  idle.push_back(std::move(events.start));
  idle.push_back(std::move(events.stop));
  idle_count_ += 2;
}

void DeviceTimestamps::flush_queue(Queue& queue, bool wait, std::uint64_t& last_end,
                                   std::vector<TimedWork>& timed_work) {
  while (!queue.empty() && finished(queue.front().events, wait)) {
    PendingWork& work = queue.front();
    const auto times = times_of(work.events);
    TimedWork done{work.sequence, work.record, times.has_value(), 0, 0};
    if (times) {
      // Work of one stream runs in order; timestamps that overlap by a driver's clock error are clamped.
      done.begin = std::max(times->first, last_end);
      done.end = std::max(times->second, done.begin);
      last_end = done.end;
    }
    timed_work.push_back(done);
    recycle(std::move(work.events));
    queue.pop_front();
  }
}

std::vector<TimedWork> DeviceTimestamps::flush(bool wait) {
  std::map<StreamKey, Queue> taken;  // moved out, so that other threads do not block while this one waits for devices
  {
    const std::lock_guard lock(mutex_);
    taken.swap(pending_);
  }
  std::vector<TimedWork> timed_work;
  for (auto& [stream, queue] : taken) flush_queue(queue, wait, ends_[stream], timed_work);
  // The ends of streams without work are forgotten: their next work begins long after it, and they may be gone.
  std::erase_if(ends_, [&](const auto& end) { return !taken.contains(end.first); });
  if (wait) resynchronize();
  const std::lock_guard lock(mutex_);
  pending_count_ -= timed_work.size();
  for (auto& [stream, queue] : taken) {
    if (queue.empty()) continue;
    Queue& newer = pending_[stream];
    for (PendingWork& work : newer) queue.push_back(std::move(work));
    newer.swap(queue);
  }
  return timed_work;
}

std::map<int, DeviceClock> DeviceTimestamps::clocks() const {
  const std::lock_guard lock(mutex_);
  return clocks_;
}

void DeviceTimestamps::release() {
  std::map<const ContextCore*, std::vector<Event>> idle;  // destroyed after the lock is released
  std::map<int, DeviceContext> contexts;
  const std::lock_guard lock(mutex_);
  idle.swap(idle_);
  contexts.swap(contexts_);
  idle_count_ = 0;
}

}  // namespace vectis::inline v0_1::detail
