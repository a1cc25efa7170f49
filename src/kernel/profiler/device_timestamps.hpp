// Device timestamps: events recorded around work and read later, and the clock synchronization that maps the device's
// clock to the host's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/cores.hpp"
#include "kernel/profiler/event_log.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

using HostClock = std::function<std::uint64_t()>;

// One moment on both clocks, in nanoseconds; the host time is accurate to +-uncertainty.
struct ClockSample {
  std::uint64_t device = 0;
  std::uint64_t host = 0;
  std::uint64_t uncertainty = 0;
};

// Clock synchronization: records an event on a separate stream and reads the host's clock before and after it, several
// times, and returns the sample with the smallest uncertainty. Empty if the device has no timestamps or fails.
std::optional<ClockSample> sample_clocks(const DeviceContext& context, const HostClock& now) noexcept;

// Converts device timestamps to host time. A second sample, far enough from the first, also corrects the drift;
// implausible rates are ignored. One thread at a time.
class DeviceClock {
 public:
  void add(const ClockSample& point);
  [[nodiscard]] bool synchronized() const noexcept { return first_.has_value(); }
  // Requires synchronized().
  [[nodiscard]] std::uint64_t to_host(std::uint64_t device) const noexcept;

 private:
  std::optional<ClockSample> first_;
  double rate_ = 1.0;  // host nanoseconds per device nanosecond
};

struct EventPair {
  Event start;
  Event stop;
};

// Work whose device timestamps are not read yet, and the sequence number of its record in the event log.
struct PendingWork {
  std::uint64_t sequence = 0;
  SpanRecord record;
  EventPair events;
};

struct TimedWork {
  std::uint64_t sequence = 0;
  SpanRecord record;
  bool timed = false;  // false: the device has no timestamps, or the work failed
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct HostTimes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Converts device timestamps to host time, clamped so that no work begins before it was submitted. Without a
// synchronized clock, the work begins when it was submitted.
[[nodiscard]] HostTimes host_times(const std::map<int, DeviceClock>& clocks, const SpanRecord& record,
                                   std::uint64_t device_begin, std::uint64_t device_end);

// Thread-safe.
class DeviceTimestamps {
 public:
  static constexpr std::size_t pending_max = 65536;
  static constexpr std::size_t idle_max = 1024;

  explicit DeviceTimestamps(HostClock now) : now_(std::move(now)) {}

  // Events for the next work on the stream; the start event is already recorded. Empty if the device has no timestamps,
  // pending_max is reached, or recording fails. Leaves the stream's state unchanged.
  [[nodiscard]] std::optional<EventPair> before(const StreamCore& stream) noexcept;
  // Records the stop event. Returns false if that fails.
  [[nodiscard]] bool after(const StreamCore& stream, const EventPair& events) noexcept;
  void add(const StreamCore& stream, PendingWork work);
  // Returns unused events to the pool of idle events.
  void recycle(EventPair events);

  // Returns the finished work or, with `wait`, waits for all of it. One caller at a time.
  [[nodiscard]] std::vector<TimedWork> flush(bool wait);
  // The synchronized clocks by device id. flush(true) takes another sample of each.
  [[nodiscard]] std::map<int, DeviceClock> clocks() const;
  // Releases idle events, and the contexts kept for clock synchronization.
  void release();

 private:
  using StreamKey = std::pair<const BackendCore*, std::uint64_t>;
  using Queue = std::deque<PendingWork>;

  Event event_for(const std::shared_ptr<ContextCore>& context);
  void synchronize(const std::shared_ptr<ContextCore>& context);
  void resynchronize();
  // Flushes in submission order; `last_end` is the end of the stream's previous work on the device's clock.
  void flush_queue(Queue& queue, bool wait, std::uint64_t& last_end, std::vector<TimedWork>& timed_work);

  HostClock now_;
  mutable std::mutex mutex_;
  std::map<StreamKey, Queue> pending_;
  std::size_t pending_count_ = 0;
  std::map<StreamKey, std::uint64_t> ends_;                // used by flush only
  std::map<const ContextCore*, std::vector<Event>> idle_;  // an event keeps its context alive
  std::size_t idle_count_ = 0;
  std::map<int, DeviceClock> clocks_;
  std::map<int, DeviceContext> contexts_;  // the last one used on each device
};

}  // namespace vectis::inline v0_1::detail
