#include "kernel/profiler/device_times.hpp"

#include <algorithm>
#include <exception>

#include "device/cores.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// The times of work that is done, empty when there are none.
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

// Whether the work is over, well or badly.
bool over(const EventPair& events, bool wait) noexcept {
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
  if (found == clocks.end() || !found->second.matched()) {
    return {record.begin, record.begin + (device_end - std::min(device_begin, device_end))};
  }
  const std::uint64_t begin = std::max(found->second.to_host(device_begin), record.begin);
  return {begin, std::max(found->second.to_host(device_end), begin)};
}

Event DeviceTimes::event_for(const std::shared_ptr<ContextCore>& context) {
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

void DeviceTimes::match(const std::shared_ptr<ContextCore>& context) {
  const int device = context->device->id;
  {
    const std::lock_guard lock(mutex_);
    contexts_.insert_or_assign(device, DeviceContext{context});
    if (clocks_.contains(device)) return;
    clocks_.emplace(device, DeviceClock{});
  }
  const auto point = match_clocks(DeviceContext{context}, now_);
  const std::lock_guard lock(mutex_);
  if (point) clocks_[device].add(*point);
}

void DeviceTimes::match_again() {
  std::map<int, DeviceContext> contexts;
  {
    const std::lock_guard lock(mutex_);
    contexts = contexts_;
  }
  for (const auto& [device, context] : contexts) {
    const auto point = match_clocks(context, now_);
    const std::lock_guard lock(mutex_);
    if (point) clocks_[device].add(*point);
  }
}

std::optional<EventPair> DeviceTimes::before(const StreamCore& stream) noexcept {
  if (!stream.context->device->info.capabilities.timestamps) return std::nullopt;
  try {
    match(stream.context);
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

bool DeviceTimes::after(const StreamCore& stream, const EventPair& events) noexcept {
  try {
    record_event(stream, *events.stop.core());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void DeviceTimes::add(const StreamCore& stream, PendingWork work) {
  const std::lock_guard lock(mutex_);
  pending_[{stream.context->device->backend.get(), stream.number}].push_back(std::move(work));
  ++pending_count_;
}

void DeviceTimes::give_back(EventPair events) {
  const std::lock_guard lock(mutex_);
  if (idle_count_ + 2 > idle_max) return;
  std::vector<Event>& idle = idle_[events.start.core()->context.get()];
  idle.push_back(std::move(events.start));
  idle.push_back(std::move(events.stop));
  idle_count_ += 2;
}

void DeviceTimes::settle_queue(Queue& queue, bool wait, std::uint64_t& last_end, std::vector<SettledWork>& settled) {
  while (!queue.empty() && over(queue.front().events, wait)) {
    PendingWork& work = queue.front();
    const auto times = times_of(work.events);
    SettledWork done{work.place, work.record, times.has_value(), 0, 0};
    if (times) {
      // Work of a stream follows one another, whatever microseconds a driver's clock disagrees with itself by.
      done.begin = std::max(times->first, last_end);
      done.end = std::max(times->second, done.begin);
      last_end = done.end;
    }
    settled.push_back(done);
    give_back(std::move(work.events));
    queue.pop_front();
  }
}

std::vector<SettledWork> DeviceTimes::settle(bool wait) {
  std::map<StreamKey, Queue> taken;  // so that nobody waits for us while we wait for devices
  {
    const std::lock_guard lock(mutex_);
    taken.swap(pending_);
  }
  std::vector<SettledWork> settled;
  for (auto& [stream, queue] : taken) settle_queue(queue, wait, ends_[stream], settled);
  if (wait) match_again();
  const std::lock_guard lock(mutex_);
  pending_count_ -= settled.size();
  for (auto& [stream, queue] : taken) {
    if (queue.empty()) continue;
    Queue& newer = pending_[stream];
    for (PendingWork& work : newer) queue.push_back(std::move(work));
    newer.swap(queue);
  }
  return settled;
}

std::map<int, DeviceClock> DeviceTimes::clocks() const {
  const std::lock_guard lock(mutex_);
  return clocks_;
}

void DeviceTimes::release() {
  std::map<const ContextCore*, std::vector<Event>> idle;  // destroyed after the lock
  std::map<int, DeviceContext> contexts;
  const std::lock_guard lock(mutex_);
  idle.swap(idle_);
  contexts.swap(contexts_);
  idle_count_ = 0;
}

}  // namespace vectis::inline v0_1::detail
