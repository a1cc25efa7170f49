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

// Options of a Profiler: the size of its trace and what it measures.
struct ProfilerOptions {
  // Size of the ring buffer of the trace, in records: ranges and submitted work, and as many counter samples. When it
  // is full, the oldest records are dropped and counted in losses(); the summary still includes them. 0 disables the
  // trace.
  std::size_t capacity = std::size_t{1} << 18;
  bool device_times = true;                                    // record an event before and after all submitted work
  Duration counter_interval = std::chrono::microseconds(100);  // minimum time between samples of the memory pools
  const Executor* clock = nullptr;                             // host clock, for tests; null: the real one
};

// The clock with which a time was measured.
enum class ProfileClock : std::uint8_t { host, device };

// Returns "host" or "device". Does not throw.
VECTIS_API std::string_view name(ProfileClock clock) noexcept;

// Aggregate of all calls with one name on one device, measured with one clock: one row of Profiler::rows().
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

  // Returns the mean time of a completed call in nanoseconds; 0 if there were no calls. Does not throw.
  [[nodiscard]] double mean_nanoseconds() const noexcept;
  [[nodiscard]] double gigabytes_per_second() const noexcept;  // 10^9 bytes per second; 0 if the total is 0
};

// Counts of the events that a profiler could not record, or not completely.
struct ProfileLosses {
  std::uint64_t dropped = 0;        // records dropped from the ring buffer: raise the capacity
  std::uint64_t untimed = 0;        // work without device timestamps: host times are used instead
  std::uint64_t other_names = 0;    // calls aggregated under "(other names)": more than 65,536 names
  std::uint64_t sink_failures = 0;  // exceptions thrown by sinks
};

// Kind of a recorded span: a range, a kernel launch, an operation that the backend runs natively, a copy or a fill.
enum class SpanKind : std::uint8_t { range, launch, operation, copy_to_device, copy_to_host, copy_on_device, fill };

// Returns the enumerator's name, such as "copy_to_host". Does not throw.
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

// Work as executed on the device. Times are nanoseconds, converted to the host's clock. The string views are valid
// only during the call of the sink.
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

// A sample of the bytes in use and cached in a device's memory pool. `time` is nanoseconds of the host's clock. The
// string view is valid only during the call of the sink.
struct PoolSample {
  std::string_view device;
  std::uint64_t time = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

// Receives events as they are recorded, to forward them to NVTX, Tracy or OpenTelemetry. The default functions do
// nothing. Called concurrently by several threads. Exceptions are caught and counted in
// ProfileLosses::sink_failures. A sink must not call the profiler, which would deadlock or recurse.
class VECTIS_API ProfilerSink {
 public:
  ProfilerSink() = default;
  ProfilerSink(const ProfilerSink&) = delete;
  ProfilerSink& operator=(const ProfilerSink&) = delete;
  virtual ~ProfilerSink();

  // Called when a range opens or work is about to be submitted, in the thread of the span. The span's `end` is 0.
  // Exceptions are counted in ProfileLosses::sink_failures.
  virtual void begin(const HostSpan& span);
  // Called when a range closes or work was submitted, in the thread of the span. Exceptions are counted in
  // ProfileLosses::sink_failures.
  virtual void end(const HostSpan& span);
  // Called in any thread, some time after the work completed, if the device has timestamps. Exceptions are counted
  // in ProfileLosses::sink_failures.
  virtual void device_span(const DeviceSpan& span);
  // Called in any thread when the bytes of a memory pool changed since the last sample. Exceptions are counted in
  // ProfileLosses::sink_failures.
  virtual void pool_sample(const PoolSample& sample);
};

// Records every launch, named operation, copy and fill of all streams of its Runtime, and the ranges of start/end and
// ProfileRange, from construction to destruction except while paused. Recording never waits for a device: events are
// recorded around the work and read later. Keeps the contexts it has seen alive until it is paused or destroyed.
// Several profilers can be active at once. Thread-safe.
class VECTIS_API Profiler {
 public:
  // Starts recording the work of all streams of `runtime`, which must outlive the profiler. Loads the backends if
  // that has not happened yet.
  explicit Profiler(Runtime& runtime = Runtime::get_default(), const ProfilerOptions& options = {});
  // Stops recording and discards the records. Ranges that are still open are not recorded.
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Opens a range in the calling thread, which end() with the same name and in the same thread closes. The range is
  // not recorded if the profiler is paused now. Prefer ProfileRange, which closes the range on every path.
  void start(std::string_view name);
  // Closes the innermost open range of that name in the calling thread. `bytes` is the amount of data the range
  // processed, `device` the id of its device or -1. Throws InvalidInput if no range of that name is open in this
  // thread, or the device does not exist.
  void end(std::string_view name, std::uint64_t bytes = 0, int device = -1);

  // Stops recording, waits for the recorded work, and releases the contexts that the profiler kept alive. The
  // records stay. No effect on recording if the profiler is paused already.
  void pause();
  // Starts recording again after pause(); no effect if the profiler records already.
  void resume();
  // Returns whether the profiler is paused.
  [[nodiscard]] bool paused() const;
  // Waits for the recorded work, then discards all records and resets losses(); open ranges stay open.
  void clear();

  // Waits for the recorded work and returns the aggregates, largest total first. Work without device timestamps has
  // host times and is counted in ProfileLosses::untimed.
  [[nodiscard]] std::vector<ProfileRow> rows() const;
  // Waits for the recorded work, then prints rows() as a table and the nonzero counts of losses(). Shares are
  // relative to the time the profiler was recording. A failed write is left in the state of `out`, without an
  // exception of Vectis.
  void print_summary(std::ostream& out) const;
  // Waits for the recorded work, then writes the trace in the Trace Event Format (JSON), for ui.perfetto.dev or
  // chrome://tracing: one track per thread and stream, flow arrows from each submission to its work, and counters of
  // the memory pools. Throws Io if writing to `out` fails.
  void write_trace(std::ostream& out) const;
  // Waits for the recorded work, then writes the trace in the Trace Event Format (JSON), for ui.perfetto.dev or
  // chrome://tracing. Throws what `out` throws, such as Io if a file cannot be written.
  void write_trace(ByteWriter& out) const;
  // Returns how many events could not be recorded since construction or clear(). Does not wait for recorded work,
  // whose missing timestamps are not counted yet.
  [[nodiscard]] ProfileLosses losses() const;

  // Adds a sink, which must not be null, and returns its id for remove_sink(). The profiler shares ownership.
  int add_sink(std::shared_ptr<ProfilerSink> sink);
  // Removes the sink with the id that add_sink() returned; no effect for another id. Events that other threads
  // record at the same time may still reach the sink afterwards.
  void remove_sink(int number);

 private:
  friend class ProfileRange;
  std::shared_ptr<detail::Recorder> recorder_;
  detail::ProfilerService* service_;
};

// Opens a range on construction and closes it on destruction. Destroyed in another thread, it stays a range of the
// thread that opened it. One thread at a time.
class VECTIS_API ProfileRange {
 public:
  // Opens the range `name` in the calling thread. `bytes` is the amount of data the range processes, `device` the id
  // of its device or -1. Throws InvalidInput if the device does not exist.
  ProfileRange(Profiler& profiler, std::string_view name, std::uint64_t bytes = 0, int device = -1);
  ProfileRange(const ProfileRange&) = delete;
  ProfileRange& operator=(const ProfileRange&) = delete;
  ~ProfileRange();

 private:
  std::shared_ptr<detail::Recorder> recorder_;
  std::uint64_t id_;
};

}  // namespace vectis::inline v0_1
