#include "kernel/profiler/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::inline v0_1::detail {

PoolSampler::PoolSampler(Runtime& runtime, Duration interval)
    : runtime_(runtime),
      interval_(static_cast<std::uint64_t>(std::max<Duration::rep>(interval.count(), 0))),
      devices_(static_cast<int>(runtime.service<DeviceRegistry>().devices().size())) {}

std::vector<SampleRecord> PoolSampler::changes(std::uint64_t now, bool at_once) {
  if (!at_once && now < next_.load(std::memory_order_relaxed)) return {};
  std::unique_lock lock(mutex_, std::defer_lock);
  if (at_once) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return {};
  }
  next_.store(now + interval_, std::memory_order_relaxed);
  std::vector<SampleRecord> changed;
  const MemoryPool& pool = memory_pool(runtime_);
  for (int device = 0; device < devices_; ++device) {
    if (!pool.memory_usage(device)) continue;  // never used
    const auto stats = pool.get_memory_stats(device);
    if (!stats) continue;
    const SampleRecord sample{device, now, stats->in_use_bytes, stats->cached_bytes};
    const auto last = last_.find(device);
    if (last != last_.end() && last->second.live_bytes == sample.live_bytes &&
        last->second.cached_bytes == sample.cached_bytes) {
      continue;
    }
    last_[device] = sample;
    changed.push_back(sample);
  }
  return changed;
}

void PoolSampler::clear() {
  const std::lock_guard lock(mutex_);
  last_.clear();
}

namespace {

constexpr std::uint32_t flush_interval = 256;  // submissions

HostClock clock_of(const Executor* executor) {
  if (executor == nullptr) return monotonic_nanoseconds;
  return [executor] { return static_cast<std::uint64_t>(executor->now().time_since_epoch().count()); };
}

SpanKind span_kind(WorkKind kind) noexcept {
  switch (kind) {
    case WorkKind::launch:
      return SpanKind::launch;
    case WorkKind::operation:
      return SpanKind::operation;
    case WorkKind::copy_to_device:
      return SpanKind::copy_to_device;
    case WorkKind::copy_to_host:
      return SpanKind::copy_to_host;
    case WorkKind::copy_on_device:
      return SpanKind::copy_on_device;
    case WorkKind::fill:
      break;
  }
  return SpanKind::fill;
}

}  // namespace

Recorder::Recorder(Runtime& runtime, const ProfilerOptions& options)
    : options_(options),
      now_(clock_of(options.clock)),
      timestamps_(now_),
      sampler_(runtime, options.counter_interval),
      log_(options.capacity),
      origin_(now_()) {
  for (const Device& device : runtime.service<DeviceRegistry>().devices()) {
    device_labels_.push_back(device.label());
    device_names_.push_back(device.info().name);
  }
}

std::string_view Recorder::label(int device) const {
  return device < 0 ? std::string_view{} : device_labels_[static_cast<std::size_t>(device)];
}

void Recorder::check_device(int device) const {
  if (device == -1 || (device >= 0 && static_cast<std::size_t>(device) < device_labels_.size())) return;
  throw Error(ErrorCode::invalid_input, "profile",
              fmt::format("there is no device {}; there are {} devices, numbered from 0; use -1 for none", device,
                          device_labels_.size()));
}

HostSpan Recorder::host_span(const SpanRecord& record) const {
  return {record.kind,          names_.name(record.name),
          label(record.device), record.stream,
          record.thread,        record.id,
          record.begin,         record.end,
          record.bytes,         record.operations,
          record.failed,        false};
}

template <class Notify>
void Recorder::notify(const std::shared_ptr<const Sinks>& sinks, const Notify& notify_one) {
  for (const auto& [number, sink] : *sinks) {
    try {
      notify_one(*sink);
    } catch (...) {  // an exception of a sink must not affect the work or other sinks
      ++sink_failures_;
    }
  }
}

Recorder::ThreadRanges& Recorder::this_thread() {
  thread_local const auto token = std::make_shared<const ThreadToken>();
  const auto found = threads_.find(token.get());
  if (found != threads_.end()) return found->second;
  // A new thread: forgets those that have ended and left no range open.
  std::erase_if(threads_, [](const auto& one) { return one.second.open.empty() && one.second.thread.expired(); });
  return threads_.emplace(token.get(), ThreadRanges{token, ++threads_seen_, {}}).first->second;
}

std::uint32_t Recorder::intern(std::string_view name) {
  const std::uint32_t number = names_.intern(name);
  if (number == 0) ++other_names_;
  return number;
}

std::uint64_t Recorder::open(const NamedRange& range) {
  check_device(range.device);
  OpenRange opened{.record = {}, .seen = enabled()};
  SpanRecord& record = opened.record;
  record.id = next_id_++;
  record.device = range.device;
  record.bytes = range.bytes;
  record.operations = range.operations;
  std::unique_lock lock(mutex_);
  ThreadRanges& thread = this_thread();
  record.thread = thread.number;
  record.name = intern(range.name);
  if (record.name == 0) opened.name = range.name;
  record.begin = now_();
  thread.open.push_back(opened);
  const auto sinks = sinks_;
  const HostSpan span = host_span(record);
  lock.unlock();
  if (opened.seen) notify(sinks, [&](ProfilerSink& sink) { sink.begin(span); });
  return record.id;
}

void Recorder::close(std::uint64_t id) {
  const std::uint64_t now = now_();
  std::unique_lock lock(mutex_);
  const auto find = [&](std::vector<OpenRange>& ranges) {
    return std::find_if(ranges.rbegin(), ranges.rend(), [&](const OpenRange& one) { return one.record.id == id; });
  };
  ThreadRanges* thread = &this_thread();
  if (find(thread->open) == thread->open.rend()) {  // opened by another thread
    const auto owner = std::find_if(threads_.begin(), threads_.end(),
                                    [&](auto& one) { return find(one.second.open) != one.second.open.rend(); });
    if (owner == threads_.end()) return;
    thread = &owner->second;
  }
  std::vector<OpenRange>& open = thread->open;
  const auto found = find(open);
  OpenRange ended = *found;
  ended.record.end = std::max(now, ended.record.begin);
  ended.record.overlapping = found != open.rbegin();
  open.erase(std::next(found).base());
  if (!ended.seen) return;
  log_.append(ended.record);
  const auto sinks = sinks_;
  const HostSpan span = host_span(ended.record);
  lock.unlock();
  notify(sinks, [&](ProfilerSink& sink) { sink.end(span); });
  sample(now, false);
}

void Recorder::close(std::string_view name, std::uint64_t bytes, int device) {
  check_device(device);
  std::unique_lock lock(mutex_);
  std::vector<OpenRange>& open = this_thread().open;
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const OpenRange& one) {
    return (one.record.name == 0 ? one.name : names_.name(one.record.name)) == name;
  });
  if (found == open.rend()) {
    throw Error(ErrorCode::invalid_input, "end",
                fmt::format("no range '{}' is open in this thread, which has {} open ranges; call start first", name,
                            open.size()));
  }
  found->record.bytes = bytes;
  found->record.device = device;
  const std::uint64_t id = found->record.id;
  lock.unlock();
  close(id);
}

WorkInFlight Recorder::before(const StreamCore& stream, const Work& work) {
  WorkInFlight flight;
  if (!enabled()) return flight;
  flight.stream = &stream;
  SpanRecord& record = flight.record;
  record.id = next_id_++;
  record.kind = span_kind(work.kind);
  record.device = stream.context->device->id;
  record.stream = stream.number;
  record.bytes = work.bytes;
  if (options_.device_times) flight.events = timestamps_.before(stream);
  std::unique_lock lock(mutex_);
  record.thread = this_thread().number;
  record.name = intern(work.name);
  record.begin = now_();
  const auto sinks = sinks_;
  const HostSpan span = host_span(record);
  lock.unlock();
  notify(sinks, [&](ProfilerSink& sink) { sink.begin(span); });
  return flight;
}

void Recorder::after(WorkInFlight& flight, WorkOutcome outcome) {
  if (flight.stream == nullptr) return;
  SpanRecord& record = flight.record;
  record.end = std::max(now_(), record.begin);
  record.failed = outcome == WorkOutcome::failed;
  const bool timed = outcome == WorkOutcome::enqueued && flight.events.has_value() &&
                     timestamps_.after(*flight.stream, *flight.events);
  if (timed) record.time_source = TimeSource::pending;
  std::unique_lock lock(mutex_);
  std::uint64_t sequence = 0;
  if (outcome != WorkOutcome::declined) sequence = log_.append(record);
  if (outcome == WorkOutcome::enqueued && !timed && options_.device_times) ++untimed_;
  const auto sinks = sinks_;
  HostSpan span = host_span(record);
  lock.unlock();
  span.declined = outcome == WorkOutcome::declined;
  if (timed) {
    timestamps_.add(*flight.stream, {sequence, record, std::move(*flight.events)});
  } else if (flight.events) {
    timestamps_.recycle(std::move(*flight.events));
  }
  notify(sinks, [&](ProfilerSink& sink) { sink.end(span); });
  sample(record.end, false);
  if (++unflushed_ >= flush_interval) flush(false);
}

void Recorder::flush(bool wait) {
  std::unique_lock lock(flush_mutex_, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;  // another thread is flushing
  }
  unflushed_ = 0;
  apply(timestamps_.flush(wait));
}

void Recorder::apply(const std::vector<TimedWork>& timed_work) {
  if (timed_work.empty()) return;
  const std::map<int, DeviceClock> clocks = timestamps_.clocks();
  std::unique_lock lock(mutex_);
  const auto sinks = sinks_;
  std::vector<DeviceSpan> spans;
  for (const TimedWork& work : timed_work) {
    const SpanRecord& record = work.record;
    if (!work.timed) {
      ++untimed_;
      log_.untimed(work.sequence, record);
      continue;
    }
    log_.timed(work.sequence, record, work.begin, work.end);
    if (sinks->empty()) continue;
    const HostTimes times = host_times(clocks, record, work.begin, work.end);
    spans.push_back({record.kind, names_.name(record.name), label(record.device), record.stream, record.id, times.begin,
                     times.end, record.bytes});
  }
  lock.unlock();
  for (const DeviceSpan& span : spans) {
    notify(sinks, [&](ProfilerSink& sink) { sink.device_span(span); });
  }
}

void Recorder::sample(std::uint64_t now, bool at_once) {
  const std::vector<SampleRecord> changes = sampler_.changes(now, at_once);
  if (changes.empty()) return;
  std::unique_lock lock(mutex_);
  for (const SampleRecord& change : changes) log_.append(change);
  const auto sinks = sinks_;
  lock.unlock();
  for (const SampleRecord& change : changes) {
    const PoolSample one{label(change.device), change.time, change.live_bytes, change.cached_bytes};
    notify(sinks, [&](ProfilerSink& sink) { sink.pool_sample(one); });
  }
}

std::uint64_t Recorder::enabled_time(std::uint64_t now) const {
  return enabled_before_ + (enabled() ? now - std::min(enabled_since_, now) : 0);
}

void Recorder::set_enabled(bool enabled) {
  const std::uint64_t now = now_();
  const std::lock_guard lock(mutex_);
  enabled_before_ = enabled_time(now);
  enabled_since_ = now;
  enabled_ = enabled;
}

void Recorder::stop() {
  flush(true);
  timestamps_.release();
}

void Recorder::clear() {
  flush(true);
  sampler_.clear();
  const std::lock_guard lock(mutex_);
  log_.clear();
  origin_ = enabled_since_ = now_();
  enabled_before_ = untimed_ = other_names_ = 0;
  sink_failures_ = dropped_ = 0;
}

int Recorder::add_sink(std::shared_ptr<ProfilerSink> sink) {
  const std::lock_guard lock(mutex_);
  auto sinks = std::make_shared<Sinks>(*sinks_);
  sinks->emplace_back(next_sink_, std::move(sink));
  sinks_ = std::move(sinks);
  return next_sink_++;
}

void Recorder::remove_sink(int number) {
  std::shared_ptr<const Sinks> replaced;  // destroyed without the lock: the destructor of a sink may use a stream
  const std::lock_guard lock(mutex_);
  auto sinks = std::make_shared<Sinks>(*sinks_);
  std::erase_if(*sinks, [&](const auto& one) { return one.first == number; });
  replaced = std::exchange(sinks_, std::move(sinks));
}

namespace {

Duration nanoseconds(std::uint64_t count) { return Duration{static_cast<Duration::rep>(count)}; }

}  // namespace

ProfileSession Recorder::session_at(std::uint64_t now) const {
  return {origin_, enabled_time(now), options_.capacity,
          ProfileLosses{log_.dropped() + dropped_.load(), untimed_, other_names_, sink_failures_.load()}};
}

ProfileSession Recorder::session() const {
  const std::lock_guard lock(mutex_);
  return session_at(now_());
}

std::vector<ProfileRow> Recorder::rows() {
  flush(true);
  std::vector<ProfileRow> rows;
  const std::lock_guard lock(mutex_);
  rows.reserve(log_.aggregates().size());
  for (const auto& [key, sum] : log_.aggregates()) {
    rows.push_back({std::string(names_.name(key.name)), std::string(label(key.device)), key.clock, sum.calls,
                    sum.failed, nanoseconds(sum.total), nanoseconds(sum.min), nanoseconds(sum.max), sum.bytes});
  }
  std::sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return std::tie(b.total, a.name, a.device, a.clock) < std::tie(a.total, b.name, b.device, b.clock);
  });
  return rows;
}

ProfileSnapshot Recorder::snapshot() {
  const std::uint64_t now = now_();
  if (enabled()) sample(now, true);
  flush(true);
  const std::map<int, DeviceClock> clocks = timestamps_.clocks();
  ProfileSnapshot snapshot;
  const std::lock_guard lock(mutex_);
  snapshot.spans.assign(log_.spans().begin(), log_.spans().end());
  snapshot.samples.assign(log_.samples().begin(), log_.samples().end());
  for (SpanRecord& span : snapshot.spans) {
    if (span.time_source != TimeSource::device) continue;
    const HostTimes times = host_times(clocks, span, span.device_begin, span.device_end);
    span.device_begin = times.begin;
    span.device_end = times.end;
  }
  for (const auto& [id, thread] : threads_) {
    for (const OpenRange& range : thread.open) {
      if (!range.seen) continue;
      SpanRecord& span = snapshot.spans.emplace_back(range.record);
      span.open = true;
      span.end = std::max(now, span.begin);
    }
  }
  snapshot.names = names_.all();
  snapshot.device_labels = device_labels_;
  snapshot.device_names = device_names_;
  snapshot.session = session_at(now);
  return snapshot;
}

}  // namespace vectis::inline v0_1::detail
