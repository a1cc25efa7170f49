// Profiler of host threads and devices: ranges, launches, copies and fills, with device timestamps.
//
//   Profiler profiler(runtime);                        // records until it is destroyed
//   {
//     ProfileRange range(profiler, "matrix_multiply");
//     run(stream, "matmul", ...);                      // recorded automatically, as every launch, copy and fill
//   }
//   profiler.print_summary(std::cout);
//   profiler.write_trace(file);                        // opens in ui.perfetto.dev
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/bytes.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/base/time.hpp"

namespace vectis::inline v0_1 {

namespace detail {
class ProfilerService;
class Recorder;
}  // namespace detail

struct ProfilerOptions {
  // Size of the ring buffer of the trace, in records: ranges and submitted work, and as many counter samples. When it
  // is full, the oldest records are dropped and counted in losses(); the summary still includes them. 0 disables the
  // trace.
  std::size_t capacity = std::size_t{1} << 18;
  bool device_times = true;                                    // record an event before and after all submitted work
  Duration counter_interval = std::chrono::microseconds(100);  // minimum time between samples of the memory pools
  const Executor* clock = nullptr;                             // host clock, for tests; null: the real one
};

// The clock that a time was measured with.
enum class ProfileClock : std::uint8_t { host, device };

VECTIS_API std::string_view name(ProfileClock clock) noexcept;

// Aggregate of all calls with one name on one device, measured with one clock.
struct VECTIS_API ProfileRow {
  std::string name;
  std::string device;  // label of the device; empty: none
  ProfileClock clock = ProfileClock::host;
  std::uint64_t calls = 0;  // completed calls, which the times below include
  std::uint64_t failed = 0;
  Duration total{0};
  Duration min{0};
  Duration max{0};
  std::uint64_t bytes = 0;

  [[nodiscard]] double mean_nanoseconds() const noexcept;
  [[nodiscard]] double gigabytes_per_second() const noexcept;  // 10^9 bytes per second; 0 if the total is 0
};

// Counts of everything the profiler could not record.
struct ProfileLosses {
  std::uint64_t dropped = 0;        // records dropped from the ring buffer: raise the capacity
  std::uint64_t untimed = 0;        // work without device timestamps: host times are used instead
  std::uint64_t other_names = 0;    // calls aggregated under "(other names)": more than 65,536 names
  std::uint64_t sink_failures = 0;  // exceptions thrown by sinks
};

enum class SpanKind : std::uint8_t { range, launch, operation, copy_to_device, copy_to_host, copy_on_device, fill };

VECTIS_API std::string_view name(SpanKind kind) noexcept;

// A span of a host thread: a range, or the call that submitted work to a stream. Times are nanoseconds of the host's
// clock. The string views are valid only during the call of the sink.
struct HostSpan {
  SpanKind kind = SpanKind::range;
  std::string_view name;
  std::string_view device;   // empty: none
  std::uint64_t stream = 0;  // index of the stream on the device; 0: none
  std::uint32_t thread = 0;  // index of the thread, in order of first use, from 1
  std::uint64_t id = 0;      // correlation id (as in CUPTI): unique, equal for begin, end and the device span
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0 while the span is open
  std::uint64_t bytes = 0;
  double operations = 0;
  bool failed = false;
  bool declined = false;  // the backend declined the operation; another submission follows
};

// Work as executed on the device, converted to the host's clock.
struct DeviceSpan {
  SpanKind kind = SpanKind::launch;
  std::string_view name;
  std::string_view device;
  std::uint64_t stream = 0;
  std::uint64_t id = 0;  // correlation id: that of the HostSpan that submitted the work
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
};

// Counter sample: bytes of a device's memory pool at one time.
struct PoolSample {
  std::string_view device;
  std::uint64_t time = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

// Receives events as they are recorded, to forward them to NVTX, Tracy or OpenTelemetry. The default functions do
// nothing. Called concurrently by several threads. Exceptions are caught and counted in ProfileLosses::sink_failures. A
// sink must not call the profiler, which would deadlock or recurse.
class VECTIS_API ProfilerSink {
 public:
  ProfilerSink() = default;
  ProfilerSink(const ProfilerSink&) = delete;
  ProfilerSink& operator=(const ProfilerSink&) = delete;
  virtual ~ProfilerSink();

  // Called in the thread of the span.
  virtual void begin(const HostSpan& span);
  virtual void end(const HostSpan& span);
  // Called in any thread, some time after the work completed.
  virtual void device_span(const DeviceSpan& span);
  virtual void pool_sample(const PoolSample& sample);
};

// Records every launch, named operation, copy and fill of all streams of its Runtime, and the ranges of start/end and
// ProfileRange, from construction to destruction except while paused. Recording never waits for a device: events are
// recorded around the work and read later. Keeps the contexts it has seen alive until it is paused or destroyed.
// Several profilers can be active at once. Thread-safe.
class VECTIS_API Profiler {
 public:
  explicit Profiler(Runtime& runtime = Runtime::get_default(), const ProfilerOptions& options = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Opens a range in the calling thread; end() with the same name closes the innermost one of that name. `bytes` is the
  // amount of data the range processed, `device` the id of its device or -1. end() throws InvalidInput if no range of
  // that name is open in this thread, or the device does not exist. Prefer ProfileRange, which closes the range on
  // every path.
  void start(std::string_view name);
  void end(std::string_view name, std::uint64_t bytes = 0, int device = -1);

  // Stops recording, waits for the recorded work, and removes the overhead; resume() starts recording again.
  void pause();
  void resume();
  [[nodiscard]] bool paused() const;
  // Waits for the recorded work, then discards all records; open ranges stay open.
  void clear();

  // Returns the aggregates, largest total first. Waits for the recorded work, as the two exporters below.
  [[nodiscard]] std::vector<ProfileRow> rows() const;
  // Prints the rows as a table, and the losses. Shares are relative to the time the profiler was enabled.
  void print_summary(std::ostream& out) const;
  // Writes the trace in the Trace Event Format (JSON), for ui.perfetto.dev or chrome://tracing: one track per thread
  // and stream, flow arrows from each submission to its work, and counters of the memory pools. Throws Io if writing
  // fails.
  void write_trace(std::ostream& out) const;
  void write_trace(ByteWriter& out) const;
  [[nodiscard]] ProfileLosses losses() const;

  // Adds a sink and returns its id for remove_sink(). A concurrent event may still reach a sink after its removal.
  int add_sink(std::shared_ptr<ProfilerSink> sink);
  void remove_sink(int number);

 private:
  friend class ProfileRange;
  std::shared_ptr<detail::Recorder> recorder_;
  detail::ProfilerService* service_;
};

// Opens a range and closes it on destruction, in the same thread. The constructor throws InvalidInput for a device that
// does not exist. One thread at a time.
class VECTIS_API ProfileRange {
 public:
  ProfileRange(Profiler& profiler, std::string_view name, std::uint64_t bytes = 0, int device = -1);
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  ~ProfileRange();

 private:
  std::shared_ptr<detail::Recorder> recorder_;
  std::uint64_t id_;
};

}  // namespace vectis::inline v0_1
