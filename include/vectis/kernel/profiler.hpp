// What ran, when and for how long, on the host's threads and on devices.
//
//   Profiler profiler(runtime);                        // looks from here to the end of its life
//   {
//     ProfileRange range(profiler, "matrix_multiply");
//     run(stream, "matmul", ...);                      // seen by itself, as every launch, copy and fill
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
class ProfilerHub;
class Recorder;
}  // namespace detail

struct ProfilerOptions {
  // Ranges, pieces of work and counter values kept for the trace. Beyond it the oldest go, counted; the summary goes on
  // counting all. 0 keeps none.
  std::size_t capacity = std::size_t{1} << 18;
  bool device_times = true;                                    // an event before and after each piece of work
  Duration counter_interval = std::chrono::microseconds(100);  // the pool is asked at most this often
  const Executor* clock = nullptr;                             // of the host; null: the real one
};

// Whose clock a time was read from.
enum class ProfileClock : std::uint8_t { host, device };

VECTIS_API std::string_view name(ProfileClock clock) noexcept;

// All calls of one name on one device by one clock.
struct VECTIS_API ProfileRow {
  std::string name;
  std::string device;  // its label; empty: none was named
  ProfileClock clock = ProfileClock::host;
  std::uint64_t calls = 0;  // that took the times below
  std::uint64_t failed = 0;
  Duration total{0};
  Duration least{0};
  Duration most{0};
  std::uint64_t bytes = 0;

  [[nodiscard]] double mean_nanoseconds() const noexcept;
  [[nodiscard]] double gigabytes_per_second() const noexcept;  // 10^9 bytes; 0 when no time passed
};

// What the profiler could not keep. Nothing is lost without being counted here.
struct ProfileLosses {
  std::uint64_t dropped = 0;        // records that had to make room: raise the capacity
  std::uint64_t untimed = 0;        // pieces of work whose device's time could not be had: host times stand in
  std::uint64_t renamed = 0;        // calls counted under "(other names)": there are too many different ones
  std::uint64_t sink_failures = 0;  // exceptions of sinks
};

enum class SpanKind : std::uint8_t { range, launch, operation, copy_to_device, copy_to_host, copy_on_device, fill };

VECTIS_API std::string_view name(SpanKind kind) noexcept;

// A named part of a host thread's time: a range, or the call that gave work to a stream. Times are nanoseconds of the
// host's clock; views live only during the call that hands them over.
struct HostSpan {
  SpanKind kind = SpanKind::range;
  std::string_view name;
  std::string_view device;   // empty: none
  std::uint64_t stream = 0;  // its number on the device; 0: none
  std::uint32_t thread = 0;  // in order of first use, from 1
  std::uint64_t id = 0;      // never used twice; the same at begin, end and on the device
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // 0 while it is open
  std::uint64_t bytes = 0;
  double operations = 0;
  bool failed = false;
  bool declined = false;  // the device left it to another way, which follows
};

// A piece of work as the device did it, on the host's clock.
struct DeviceSpan {
  SpanKind kind = SpanKind::launch;
  std::string_view name;
  std::string_view device;
  std::uint64_t stream = 0;
  std::uint64_t id = 0;  // of the HostSpan that gave it
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
};

// Bytes of a device's memory pool at one moment.
struct PoolSample {
  std::string_view device;
  std::uint64_t time = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

// Somebody else who wants to see it: NVTX, Tracy, OpenTelemetry. Each function does nothing unless overridden. Called
// by any thread, several at once; what it throws is counted and goes no further. It must not call the profiler.
class VECTIS_API ProfilerSink {
 public:
  ProfilerSink() = default;
  ProfilerSink(const ProfilerSink&) = delete;
  ProfilerSink& operator=(const ProfilerSink&) = delete;
  virtual ~ProfilerSink();

  // In the thread whose time it is.
  virtual void begin(const HostSpan& span);
  virtual void end(const HostSpan& span);
  // Some time after the work was done, in any thread.
  virtual void device_work(const DeviceSpan& span);
  virtual void pool(const PoolSample& sample);
};

// Sees every launch, named operation, copy and fill of every stream of its Runtime while it lives and is not paused,
// and what is told to it. Work is never waited for while it goes on: events are recorded around it and read later.
// Contexts that were used stay alive until the profiler is paused or gone. Several may look at once. Thread-safe.
class VECTIS_API Profiler {
 public:
  explicit Profiler(Runtime& runtime = Runtime::get_default(), const ProfilerOptions& options = {});
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // A range of the calling thread, up to the `end` of the same name in the same thread. `bytes` are what it moved or
  // used, `device` is the id of the device it was for. InvalidInput when no range of that name is open here, or for a
  // device that does not exist. ProfileRange is the way that cannot forget the end.
  void start(std::string_view name);
  void end(std::string_view name, std::uint64_t bytes = 0, int device = -1);

  // Paused, it sees nothing, and costs what no profiler costs.
  void pause();
  void resume();
  [[nodiscard]] bool paused() const;
  // Forgets what was seen; open ranges stay open.
  void clear();

  // These wait for the work that was seen. Longest total first.
  [[nodiscard]] std::vector<ProfileRow> rows() const;
  // A table of the rows, and what was lost. A share is of the time the profiler was on.
  void print_summary(std::ostream& out) const;
  // Chrome's trace format. Threads and streams are tracks, an arrow goes from each call to its work, and the pools are
  // counters. Io when `out` fails.
  void write_trace(std::ostream& out) const;
  void write_trace(ByteWriter& out) const;
  [[nodiscard]] ProfileLosses losses() const;

  // Also tells `sink`, from now on. The number removes it again; a call under way may still reach it.
  int add_sink(std::shared_ptr<ProfilerSink> sink);
  void remove_sink(int number);

 private:
  friend class ProfileRange;
  std::shared_ptr<detail::Recorder> recorder_;
  detail::ProfilerHub* hub_;
};

// A range for as long as it lives, in the thread that made it. One thread at a time.
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
