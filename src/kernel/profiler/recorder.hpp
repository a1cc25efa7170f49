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
#include <thread>
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
  PoolSampler(Runtime& runtime, Duration interval);

  // Samples the pools and returns those whose bytes changed since the last sample. Empty if the last sample is less
  // than the interval old or another thread is sampling, unless `at_once`.
  [[nodiscard]] std::vector<SampleRecord> changes(std::uint64_t now, bool at_once);
  // Discards the last samples, so that the next call returns every pool.
  void clear();

 private:
  Runtime& runtime_;
  std::uint64_t interval_;
  int devices_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  std::map<int, SampleRecord> last_;  // guarded by mutex_
};

// A call that is submitting work to a stream. No stream: the recorder was disabled when it began.
struct WorkInFlight {
  const StreamCore* stream = nullptr;
  SpanRecord record;
  std::optional<EventPair> events;
};

// Thread-safe.
class Recorder {
 public:
  Recorder(Runtime& runtime, const ProfilerOptions& options);

  // Opens a range of the calling thread and returns its id for close(). Throws InvalidInput for an unknown device.
  [[nodiscard]] std::uint64_t open(const NamedRange& range);
  void close(std::uint64_t id);
  // Closes the thread's innermost range of that name. Throws InvalidInput if there is none.
  void close(std::string_view name, std::uint64_t bytes, int device);

  [[nodiscard]] WorkInFlight before(const StreamCore& stream, const Work& work);
  void after(WorkInFlight& flight, WorkOutcome outcome);

  // Called by ProfilerService, one thread at a time.
  void set_enabled(bool enabled);
  [[nodiscard]] bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }
  // Samples the memory pools now.
  void sample() { sample(now_(), true); }
  // Waits for recorded work, and releases events and contexts.
  void stop();
  void clear();

  // Both wait for recorded work.
  [[nodiscard]] std::vector<ProfileRow> rows();
  [[nodiscard]] ProfileSnapshot snapshot();
  [[nodiscard]] ProfileSession session() const;

  int add_sink(std::shared_ptr<ProfilerSink> sink);
  void remove_sink(int number);
  // Counts an event that could not be recorded.
  void count_dropped() noexcept { ++dropped_; }

 private:
  using Sinks = std::vector<std::pair<int, std::shared_ptr<ProfilerSink>>>;
  struct OpenRange {
    SpanRecord record;
    bool seen = false;  // it began while the recorder was enabled
  };
  struct ThreadRanges {
    std::uint32_t number = 0;
    std::vector<OpenRange> open;  // innermost last
  };

  // Require mutex_ to be held:
  ThreadRanges& this_thread();
  std::uint32_t intern(std::string_view name);
  [[nodiscard]] HostSpan host_span(const SpanRecord& record) const;
  [[nodiscard]] std::uint64_t enabled_time(std::uint64_t now) const;
  [[nodiscard]] ProfileSession session_at(std::uint64_t now) const;

  // Require mutex_ not to be held:
  void check_device(int device) const;
  [[nodiscard]] std::string_view label(int device) const;
  void flush(bool wait);
  void apply(const std::vector<TimedWork>& timed_work);
  void sample(std::uint64_t now, bool at_once);
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
  std::map<std::thread::id, ThreadRanges> threads_;
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
