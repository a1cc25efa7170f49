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

// Returns the host's time in nanoseconds.
using HostClock = std::function<std::uint64_t()>;

// One moment on both clocks, in nanoseconds; the host time is accurate to +-uncertainty.
struct ClockSample {
  std::uint64_t device = 0;
  std::uint64_t host = 0;
  std::uint64_t uncertainty = 0;
};

// Samples the clocks of a device and of the host: records an event on a new stream and reads the host's clock before
// and after it, five times, and returns the sample with the smallest uncertainty. Waits for the events. Returns
// nothing if the device has no timestamps or a call of the device fails; never throws.
std::optional<ClockSample> sample_clocks(const DeviceContext& context, const HostClock& now) noexcept;

// Converts device timestamps to host time. A second sample, far enough from the first, also corrects the drift;
// implausible rates are ignored. One thread at a time.
class DeviceClock {
 public:
  // Adds a sample. The first one synchronizes the clock; a later one sets the rate if it is at least 10 ms after the
  // first on the device's clock and the rate is within 0.1 % of 1, else it is ignored.
  void add(const ClockSample& point);
  [[nodiscard]] bool synchronized() const noexcept { return first_.has_value(); }
  // Returns the host time of a device timestamp, at least 0. Requires synchronized(); the behavior is undefined
  // without a sample.
  [[nodiscard]] std::uint64_t to_host(std::uint64_t device) const noexcept;

 private:
  std::optional<ClockSample> first_;
  double rate_ = 1.0;  // host nanoseconds per device nanosecond
};

// The events recorded on a stream right before and after one piece of work.
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

// Finished work with its begin and end on the device's clock, in nanoseconds.
struct TimedWork {
  std::uint64_t sequence = 0;
  SpanRecord record;
  bool timed = false;  // false: the device has no timestamps, or the work failed
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Begin and end of a piece of work on the host's clock, in nanoseconds.
struct HostTimes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Converts the device timestamps of recorded work to host time, clamped so that no work begins before it was
// submitted or ends before it begins. If `clocks` has no synchronized clock of the record's device, the work begins
// at record.begin and keeps its duration.
[[nodiscard]] HostTimes host_times(const std::map<int, DeviceClock>& clocks, const SpanRecord& record,
                                   std::uint64_t device_begin, std::uint64_t device_end);

// Records events around the work of streams, reads their timestamps when the work has finished, and keeps the clocks
// of the devices synchronized. Thread-safe.
class DeviceTimestamps {
 public:
  static constexpr std::size_t pending_max = 65536;  // pieces of work whose timestamps are not read yet
  static constexpr std::size_t idle_max = 1024;      // events kept for reuse

  explicit DeviceTimestamps(HostClock now) : now_(std::move(now)) {}

  // Returns a pair of events for the next work on the stream and records the start event. On the first call for a
  // device also synchronizes its clock. Returns nothing if the device has no timestamps, pending_max pieces of work
  // are pending, or recording fails, which leaves the stream usable; never throws.
  [[nodiscard]] std::optional<EventPair> before(const StreamCore& stream) noexcept;
  // Records the stop event of `events`, which before() returned for the same stream. Returns false if recording
  // fails; never throws.
  [[nodiscard]] bool after(const StreamCore& stream, const EventPair& events) noexcept;
  // Queues work for flush(). Requires events that before() and after() recorded on `stream`, and per stream the order
  // of submission; does not check them.
  void add(const StreamCore& stream, PendingWork work);
  // Keeps the events for reuse by before(), or destroys them if idle_max events are kept already. Requires events
  // whose timestamps nobody reads any more.
  void recycle(EventPair events);

  // Removes and returns the pending work that has finished; with `wait`, waits for all of it and takes another sample
  // of each clock. Work that failed or has no timestamps is returned with `timed` false; errors of the device are not
  // thrown. One caller at a time.
  [[nodiscard]] std::vector<TimedWork> flush(bool wait);
  // Returns the clocks of all devices used so far by device id. A clock is not synchronized if sampling it failed.
  [[nodiscard]] std::map<int, DeviceClock> clocks() const;
  // Destroys the events kept for reuse, and releases the contexts kept for clock synchronization. Pending work stays.
  void release();

 private:
  using StreamKey = std::pair<const BackendCore*, std::uint64_t>;
  using Queue = std::deque<PendingWork>;

  Event event_for(const std::shared_ptr<ContextCore>& context);
  void synchronize(const std::shared_ptr<ContextCore>& context);
  void resynchronize();
  // Moves the finished work at the front of one stream's queue to `timed_work`, in submission order; with `wait`,
  // waits for all of it. `last_end` is the end of the stream's previous work on the device's clock.
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
