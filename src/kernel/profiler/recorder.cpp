#include "kernel/profiler/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "vectis/base/error.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint32_t settle_every = 256;  // pieces of work

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
      times_(now_),
      sampler_(runtime, options.counter_interval),
      ledger_(options.capacity),
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
              fmt::format("there is no device {}; there are {}, numbered from 0, and -1 means none", device,
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

template <class Tell>
void Recorder::tell(const std::shared_ptr<const Sinks>& sinks, const Tell& tell_one) {
  for (const auto& [number, sink] : *sinks) {
    try {
      tell_one(*sink);
    } catch (...) {  // not ours: it must hurt neither the work nor the other sinks
      ++sink_failures_;
    }
  }
}

Recorder::ThreadState& Recorder::this_thread() {
  ThreadState& thread = threads_[std::this_thread::get_id()];
  if (thread.number == 0) thread.number = ++threads_seen_;
  return thread;
}

std::uint32_t Recorder::number_of(std::string_view name) {
  const std::uint32_t number = names_.number(name);
  if (number == 0) ++renamed_;
  return number;
}

std::uint64_t Recorder::open(const NamedRange& range) {
  check_device(range.device);
  OpenRange opened{.record = {}, .seen = looking()};
  SpanRecord& record = opened.record;
  record.id = next_id_++;
  record.device = range.device;
  record.bytes = range.bytes;
  record.operations = range.operations;
  std::unique_lock lock(mutex_);
  ThreadState& thread = this_thread();
  record.thread = thread.number;
  record.name = number_of(range.name);
  record.begin = now_();
  thread.open.push_back(opened);
  const auto sinks = sinks_;
  const HostSpan span = host_span(record);
  lock.unlock();
  if (opened.seen) tell(sinks, [&](ProfilerSink& sink) { sink.begin(span); });
  return record.id;
}

void Recorder::close(std::uint64_t id) {
  const std::uint64_t now = now_();
  std::unique_lock lock(mutex_);
  std::vector<OpenRange>& open = this_thread().open;
  const auto found =
      std::find_if(open.rbegin(), open.rend(), [&](const OpenRange& one) { return one.record.id == id; });
  if (found == open.rend()) return;
  OpenRange ended = *found;
  ended.record.end = std::max(now, ended.record.begin);
  ended.record.crossing = found != open.rbegin();
  open.erase(std::next(found).base());
  if (!ended.seen) return;
  ledger_.append(ended.record);
  const auto sinks = sinks_;
  const HostSpan span = host_span(ended.record);
  lock.unlock();
  tell(sinks, [&](ProfilerSink& sink) { sink.end(span); });
  sample(now, false);
}

void Recorder::close(std::string_view name, std::uint64_t bytes, int device) {
  check_device(device);
  std::unique_lock lock(mutex_);
  std::vector<OpenRange>& open = this_thread().open;
  const auto found = std::find_if(open.rbegin(), open.rend(),
                                  [&](const OpenRange& one) { return names_.name(one.record.name) == name; });
  if (found == open.rend()) {
    throw Error(
        ErrorCode::invalid_input, "end",
        fmt::format("no range '{}' is open in this thread, where {} others are; call start first", name, open.size()));
  }
  found->record.bytes = bytes;
  found->record.device = device;
  const std::uint64_t id = found->record.id;
  lock.unlock();
  close(id);
}

WorkInFlight Recorder::before(const StreamCore& stream, const Work& work) {
  WorkInFlight flight;
  if (!looking()) return flight;
  flight.stream = &stream;
  SpanRecord& record = flight.record;
  record.id = next_id_++;
  record.kind = span_kind(work.kind);
  record.device = stream.context->device->id;
  record.stream = stream.number;
  record.bytes = work.bytes;
  if (options_.device_times) flight.events = times_.before(stream);
  std::unique_lock lock(mutex_);
  record.thread = this_thread().number;
  record.name = number_of(work.name);
  record.begin = now_();
  const auto sinks = sinks_;
  const HostSpan span = host_span(record);
  lock.unlock();
  tell(sinks, [&](ProfilerSink& sink) { sink.begin(span); });
  return flight;
}

void Recorder::after(WorkInFlight& flight, WorkOutcome outcome) {
  if (flight.stream == nullptr) return;
  SpanRecord& record = flight.record;
  record.end = std::max(now_(), record.begin);
  record.failed = outcome == WorkOutcome::failed;
  const bool timed =
      outcome == WorkOutcome::given && flight.events.has_value() && times_.after(*flight.stream, *flight.events);
  if (timed) record.timed_by = TimedBy::pending;
  std::unique_lock lock(mutex_);
  std::uint64_t place = 0;
  if (outcome != WorkOutcome::declined) place = ledger_.append(record);
  if (outcome == WorkOutcome::given && !timed && options_.device_times) ++untimed_;
  const auto sinks = sinks_;
  HostSpan span = host_span(record);
  lock.unlock();
  span.declined = outcome == WorkOutcome::declined;
  if (timed) {
    times_.add(*flight.stream, {place, record, std::move(*flight.events)});
  } else if (flight.events) {
    times_.give_back(std::move(*flight.events));
  }
  tell(sinks, [&](ProfilerSink& sink) { sink.end(span); });
  sample(record.end, false);
  if (++unsettled_ >= settle_every) settle(false);
}

void Recorder::settle(bool wait) {
  std::unique_lock lock(settle_mutex_, std::defer_lock);
  if (wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;  // another thread is at it
  }
  unsettled_ = 0;
  apply(times_.settle(wait));
}

void Recorder::apply(const std::vector<SettledWork>& settled) {
  if (settled.empty()) return;
  const std::map<int, DeviceClock> clocks = times_.clocks();
  std::unique_lock lock(mutex_);
  const auto sinks = sinks_;
  std::vector<DeviceSpan> spans;
  for (const SettledWork& work : settled) {
    const SpanRecord& record = work.record;
    if (!work.timed) {
      ++untimed_;
      ledger_.untimed(work.place, record);
      continue;
    }
    ledger_.timed(work.place, record, work.begin, work.end);
    if (sinks->empty()) continue;
    const HostTimes times = host_times(clocks, record, work.begin, work.end);
    spans.push_back({record.kind, names_.name(record.name), label(record.device), record.stream, record.id, times.begin,
                     times.end, record.bytes});
  }
  lock.unlock();
  for (const DeviceSpan& span : spans) {
    tell(sinks, [&](ProfilerSink& sink) { sink.device_work(span); });
  }
}

void Recorder::sample(std::uint64_t now, bool at_once) {
  const std::vector<SampleRecord> changes = sampler_.changes(now, at_once);
  if (changes.empty()) return;
  std::unique_lock lock(mutex_);
  for (const SampleRecord& change : changes) ledger_.append(change);
  const auto sinks = sinks_;
  lock.unlock();
  for (const SampleRecord& change : changes) {
    const PoolSample one{label(change.device), change.time, change.live_bytes, change.cached_bytes};
    tell(sinks, [&](ProfilerSink& sink) { sink.pool(one); });
  }
}

std::uint64_t Recorder::looked(std::uint64_t now) const {
  return looked_before_ + (looking() ? now - std::min(looking_since_, now) : 0);
}

void Recorder::set_looking(bool looking) {
  const std::uint64_t now = now_();
  const std::lock_guard lock(mutex_);
  looked_before_ = looked(now);
  looking_since_ = now;
  looking_ = looking;
}

void Recorder::rest() {
  settle(true);
  times_.release();
}

void Recorder::clear() {
  settle(true);
  sampler_.clear();
  const std::lock_guard lock(mutex_);
  ledger_.clear();
  origin_ = looking_since_ = now_();
  looked_before_ = untimed_ = renamed_ = 0;
  sink_failures_ = lost_ = 0;
}

int Recorder::add_sink(std::shared_ptr<ProfilerSink> sink) {
  const std::lock_guard lock(mutex_);
  auto sinks = std::make_shared<Sinks>(*sinks_);
  sinks->emplace_back(next_sink_, std::move(sink));
  sinks_ = std::move(sinks);
  return next_sink_++;
}

void Recorder::remove_sink(int number) {
  const std::lock_guard lock(mutex_);
  auto sinks = std::make_shared<Sinks>(*sinks_);
  std::erase_if(*sinks, [&](const auto& one) { return one.first == number; });
  sinks_ = std::move(sinks);
}

}  // namespace vectis::inline v0_1::detail
