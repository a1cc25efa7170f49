// The implementation of Profiler: records the events of ranges and streams in the event log and forwards them to sinks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/observer.hpp"
#include "kernel/profiler/device_timestamps.hpp"
#include "kernel/profiler/event_log.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/time.hpp"
#include "vectis/kernel/profiler.hpp"

namespace vectis::inline v0_1::detail {

// Samples the bytes of the memory pools at a limited rate. Thread-safe.
class PoolSampler {
 public:
  // Samples the pools of the runtime's devices at most once per `interval` (a negative interval counts as 0). The
  // runtime must outlive the sampler. Throws what the runtime's DeviceRegistry throws.
  PoolSampler(Runtime& runtime, Duration interval);

  // Samples the memory pools at the host time `now` and returns those whose bytes changed since their last sample.
  // Without `at_once`, returns nothing if the last sample is younger than the interval or another thread is sampling.
  [[nodiscard]] std::vector<SampleRecord> changes(std::uint64_t now, bool at_once);
  // Discards the last samples, so that the next changes() that samples returns every pool.
  void clear();

 private:
  Runtime& runtime_;
  std::uint64_t interval_;
  int devices_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::map<int, SampleRecord> last_;  // guarded by mutex_
};

// The record of a call that is submitting work to a stream, from Recorder::before() to after(). `stream` is null if
// the recorder was disabled when the call began; `events` is empty without device timestamps.
struct WorkInFlight {
  const StreamCore* stream = nullptr;
  SpanRecord record;
  std::optional<EventPair> events;
};

// Identifies a thread as long as it runs. Made by make_shared, so that its address is not reused while a weak pointer
// to it exists.
struct ThreadToken {};

// Records ranges, submitted work and samples of the memory pools for one Profiler. Thread-safe.
class Recorder {
 public:
  // Starts disabled and empty. The runtime and options.clock must outlive the recorder. Throws what the runtime's
  // DeviceRegistry throws.
  Recorder(Runtime& runtime, const ProfilerOptions& options);

  // Opens a range of the calling thread and returns its id for close(). A range opened while the recorder is disabled
  // is not recorded. Throws InvalidInput unless range.device is -1 (none) or the id of a device.
  [[nodiscard]] std::uint64_t open(const NamedRange& range);
  // Closes the range with that id, of any thread, and records it as a range of the thread that opened it; has no
  // effect if no such range is open.
  void close(std::uint64_t id);
  // Closes the calling thread's innermost range of that name, and records it with these bytes and this device. Throws
  // InvalidInput if the thread has no open range of that name, or unless `device` is -1 (none) or the id of a device.
  void close(std::string_view name, std::uint64_t bytes, int device);

  // Starts recording work that is about to be enqueued on the stream, and records the start event if the device has
  // timestamps. Returns the state for after(), with a null stream if the recorder is disabled. The stream must live
  // until after(). Failures of the device are not thrown; the work is then timed by the host.
  [[nodiscard]] WorkInFlight before(const StreamCore& stream, const Work& work);
  // Ends the recording that before() started, on the same thread: appends the record to the event log, as failed if
  // `outcome` says so; declined work reaches the sinks alone. Has no effect if flight.stream is null. Failures of the
  // device and of sinks are counted, not thrown. Call it once per before().
  void after(WorkInFlight& flight, WorkOutcome outcome);

  // Switches recording on or off, and adds up the time it was on. ProfilerService calls it, one thread at a time.
  void set_enabled(bool enabled);
  [[nodiscard]] bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }
  // Samples the memory pools now, whether or not the recorder is enabled.
  void sample() { sample(now_(), true); }
  // Waits for the recorded work, and releases idle events and the contexts kept for clock synchronization. Recorded
  // data stays. Failures of the device are not thrown: failed work is recorded with host times.
  void stop();
  // Waits for the recorded work, then removes all records and aggregates and sets the counts of ProfileLosses to 0.
  // Open ranges stay open. Failures of the device are not thrown.
  void clear();

  // Waits for the recorded work and returns the aggregates by name, device and clock, largest total time first.
  // Failures of the device are not thrown: the work is then aggregated with host times.
  [[nodiscard]] std::vector<ProfileRow> rows();
  // Waits for the recorded work and returns a copy of the trace: spans with device times on the host's clock, ranges
  // that are still open, samples and names. Failures of the device are not thrown: the work has host times then.
  [[nodiscard]] ProfileSnapshot snapshot();
  // Returns when and how long the recorder was enabled, and what it could not record. Does not wait.
  [[nodiscard]] ProfileSession session() const;

  // Adds a sink, which must not be null, for all later events, and returns its number for remove_sink(). Exceptions
  // of the sink are counted, not propagated.
  int add_sink(std::shared_ptr<ProfilerSink> sink);
  // Removes the sink with that number; has no effect if there is none. A concurrent event may still reach the sink.
  void remove_sink(int number);
  // Counts an event that could not be recorded, in ProfileLosses::dropped.
  void count_dropped() noexcept { ++dropped_; }

 private:
  using Sinks = std::vector<std::pair<int, std::shared_ptr<ProfilerSink>>>;
  struct OpenRange {
    SpanRecord record;
    bool seen = false;      // it began while the recorder was enabled
    std::string name = {};  // if the table of names was full; empty: that of the record
  };
  struct ThreadRanges {
    std::weak_ptr<const ThreadToken> thread;  // expires with the thread
    std::uint32_t number = 0;
    std::vector<OpenRange> open;  // innermost last
  };

  // Returns the open ranges of the calling thread, and numbers a thread seen for the first time. Requires mutex_ to
  // be held.
  ThreadRanges& this_thread();
  // Returns the index of a name; 0, and counts it in ProfileLosses::other_names, if the table of names is full.
  // Requires mutex_ to be held.
  std::uint32_t intern(std::string_view name);
  // Converts a record for the sinks; the views point into this object. Requires mutex_ to be held.
  [[nodiscard]] HostSpan host_span(const SpanRecord& record) const;
  // Returns how long the recorder was enabled until `now`, in nanoseconds. Requires mutex_ to be held.
  [[nodiscard]] std::uint64_t enabled_time(std::uint64_t now) const;
  // Returns the session until `now`, with what the recorder could not record. Requires mutex_ to be held.
  [[nodiscard]] ProfileSession session_at(std::uint64_t now) const;

  // Throws InvalidInput unless `device` is -1 (none) or the id of a device.
  void check_device(int device) const;
  // Returns the label of a device; empty for -1. Requires an id that check_device() accepts.
  [[nodiscard]] std::string_view label(int device) const;
  // Records the device times of finished work; with `wait`, waits for all work. Without `wait`, returns at once if
  // another thread is flushing. Requires mutex_ not to be held.
  void flush(bool wait);
  // Adds the device times of finished work to the event log and passes them to the sinks. Requires mutex_ not to be
  // held.
  void apply(const std::vector<TimedWork>& timed_work);
  // Records the memory pools that changed and passes them to the sinks; without `at_once`, at most once per interval.
  // Requires mutex_ not to be held.
  void sample(std::uint64_t now, bool at_once);
  // Calls notify_one(sink) for every sink; counts exceptions in ProfileLosses::sink_failures. Requires mutex_ not to
  // be held.
  template <class Notify>
  void notify(const std::shared_ptr<const Sinks>& sinks, const Notify& notify_one);

  ProfilerOptions options_;
  HostClock now_;
  std::vector<std::string> device_labels_;  // by id
  std::vector<std::string> device_names_;
  DeviceTimestamps timestamps_;
  PoolSampler sampler_;
  std::mutex flush_mutex_;  // taken before mutex_
  std::atomic<bool> enabled_{false};
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::uint32_t> unflushed_{0};  // submissions since the last flush
  std::atomic<std::uint64_t> sink_failures_{0};
  std::atomic<std::uint64_t> dropped_{0};

  mutable std::mutex mutex_;  // guards the members below
  StringTable names_;
  EventLog log_;
  // By the address of the thread's token, which is not reused while the weak pointer exists. std::thread::id would be
  // reused, and a new thread would get the open ranges of an ended one.
  std::unordered_map<const ThreadToken*, ThreadRanges> threads_;
  std::uint32_t threads_seen_ = 0;
  std::shared_ptr<const Sinks> sinks_ = std::make_shared<const Sinks>();
  int next_sink_ = 1;
  std::uint64_t origin_;
  std::uint64_t enabled_since_ = 0;
  std::uint64_t enabled_before_ = 0;
  std::uint64_t untimed_ = 0;
  std::uint64_t other_names_ = 0;
};

}  // namespace vectis::inline v0_1::detail
