// The event log of a profiler: a ring buffer of the newest records for the trace, and aggregates of all of them. Memory
// is bounded; dropped records are counted.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vectis/kernel/profiler.hpp"

namespace vectis::inline v0_1::detail {

// Interns names, so that records stay small. Views stay valid as long as the table. One thread at a time.
class StringTable {
 public:
  static constexpr std::size_t names_max = 65536;
  static constexpr std::string_view other = "(other names)";

  // Returns the index of the name, and adds the name if it is new. Returns 0, the index of `other`, for a new name if
  // the table holds names_max names.
  std::uint32_t intern(std::string_view name);
  // Returns the name at an index. Requires an index that intern() returned; does not check it.
  [[nodiscard]] std::string_view name(std::uint32_t number) const { return names_[number]; }
  [[nodiscard]] std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }

 private:
  std::deque<std::string> names_{std::string(other)};
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

// The clock that measured a record: the host's, the device's, or the device's with timestamps that are not read yet.
enum class TimeSource : std::uint8_t { host, pending, device };

// One record of the trace: a range, or submitted work with the call that submitted it. Times are in nanoseconds.
struct SpanRecord {
  std::uint64_t id = 0;
  SpanKind kind = SpanKind::range;
  TimeSource time_source = TimeSource::host;
  bool failed = false;
  bool overlapping = false;  // ended before a range that began later in the same thread
  bool open = false;         // not ended yet when the snapshot was taken
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  int device = -1;
  std::uint64_t stream = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t device_begin = 0;  // on the device's clock; in a snapshot on the host's
  std::uint64_t device_end = 0;
  std::uint64_t bytes = 0;
  double operations = 0;
};

// The bytes of one device's memory pool at a moment of the host's clock.
struct SampleRecord {
  int device = -1;
  std::uint64_t time = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

// Records with equal keys are added up in one Aggregate.
struct AggregateKey {
  std::uint32_t name = 0;
  int device = -1;
  ProfileClock clock = ProfileClock::host;
  auto operator<=>(const AggregateKey&) const = default;
};

// Counts, times in nanoseconds and bytes of all records with one key. Failed calls count in `failed` alone.
struct Aggregate {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t total = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t bytes = 0;
};

// Keeps the newest spans and samples in two ring buffers, and aggregates of all spans. One thread at a time.
class EventLog {
 public:
  // Each ring buffer keeps `capacity` records; 0 keeps none, and only the aggregates are recorded.
  explicit EventLog(std::size_t capacity) : capacity_(capacity) {}

  // Appends a finished record, aggregates it and returns its sequence number. A full ring buffer drops its oldest
  // record, which dropped() counts. A record with TimeSource::pending is aggregated later, by timed() or untimed().
  std::uint64_t append(const SpanRecord& record);
  // Aggregates a pending record with its device timestamps, and updates it if the ring buffer still holds it.
  // Requires the sequence number that append() returned for the record.
  void timed(std::uint64_t sequence, SpanRecord record, std::uint64_t device_begin, std::uint64_t device_end);
  // Aggregates a pending record with its host times, for work without device timestamps, and updates it if the ring
  // buffer still holds it. Requires the sequence number that append() returned for the record.
  void untimed(std::uint64_t sequence, SpanRecord record);
  // Appends a sample of a memory pool. A full ring buffer drops its oldest sample, which dropped() counts.
  void append(const SampleRecord& record);
  // Removes all records and aggregates and sets dropped() to 0. Sequence numbers continue.
  void clear();

  [[nodiscard]] const std::deque<SpanRecord>& spans() const noexcept { return spans_; }
  [[nodiscard]] const std::deque<SampleRecord>& samples() const noexcept { return samples_; }
  [[nodiscard]] const std::map<AggregateKey, Aggregate>& aggregates() const noexcept { return aggregates_; }
  // Returns how many spans and samples full ring buffers dropped since the last clear().
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void add(const SpanRecord& record);
  void replace(std::uint64_t sequence, const SpanRecord& record);

  std::size_t capacity_;
  std::deque<SpanRecord> spans_;
  std::uint64_t first_sequence_ = 0;
  std::deque<SampleRecord> samples_;
  std::map<AggregateKey, Aggregate> aggregates_;
  std::uint64_t dropped_ = 0;
};

// When and how long a profile was recorded, and what it dropped.
struct ProfileSession {
  std::uint64_t origin = 0;  // host time at which the profiler was created or cleared
  std::uint64_t on = 0;      // nanoseconds it was enabled since then
  std::size_t capacity = 0;
  ProfileLosses losses;
};

// A copy of everything that a profiler recorded, the input of write_trace().
struct ProfileSnapshot {
  std::vector<SpanRecord> spans;  // device times on the host's clock
  std::vector<SampleRecord> samples;
  std::vector<std::string> names;
  std::vector<std::string> device_labels;  // by id
  std::vector<std::string> device_names;
  ProfileSession session;
};

}  // namespace vectis::inline v0_1::detail
