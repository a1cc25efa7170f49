// What a profiler remembers: the newest records for a trace, and sums of everything. All of it is bounded, and what
// does not fit is counted.
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

// Names by number, so that a record stays small. A view it gave lives as long as the table.
class NameTable {
 public:
  static constexpr std::size_t names_max = 65536;
  static constexpr std::string_view other = "(other names)";

  // 0, the number of `other`, when the table is full.
  std::uint32_t number(std::string_view name);
  [[nodiscard]] std::string_view name(std::uint32_t number) const { return names_[number]; }
  [[nodiscard]] std::vector<std::string> all() const { return {names_.begin(), names_.end()}; }

 private:
  std::deque<std::string> names_{std::string(other)};
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

enum class TimedBy : std::uint8_t { host, pending, device };

// A range, or a piece of work with the call that gave it.
struct SpanRecord {
  std::uint64_t id = 0;
  SpanKind kind = SpanKind::range;
  TimedBy timed_by = TimedBy::host;
  bool failed = false;
  bool crossing = false;  // ended before a range that began after it
  bool open = false;      // still going on when this was copied
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  int device = -1;
  std::uint64_t stream = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t device_begin = 0;  // on the device's clock, in a copy for export on the host's
  std::uint64_t device_end = 0;
  std::uint64_t bytes = 0;
  double operations = 0;
};

struct SampleRecord {
  int device = -1;
  std::uint64_t time = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t cached_bytes = 0;
};

struct SumKey {
  std::uint32_t name = 0;
  int device = -1;
  ProfileClock clock = ProfileClock::host;
  auto operator<=>(const SumKey&) const = default;
};

struct Sum {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t total = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t bytes = 0;
};

// One thread at a time.
class Ledger {
 public:
  explicit Ledger(std::size_t capacity) : capacity_(capacity) {}

  // Keeps a finished record; its place is for `timed`. One whose device's times are pending is not yet summed.
  std::uint64_t append(const SpanRecord& record);
  // The device's times of a record that was pending: sums it, and puts them into the record if that is still kept.
  void timed(std::uint64_t place, SpanRecord record, std::uint64_t device_begin, std::uint64_t device_end);
  // There are none to be had: sums the host's.
  void untimed(std::uint64_t place, SpanRecord record);
  void append(const SampleRecord& record);
  void clear();

  [[nodiscard]] const std::deque<SpanRecord>& spans() const noexcept { return spans_; }
  [[nodiscard]] const std::deque<SampleRecord>& samples() const noexcept { return samples_; }
  [[nodiscard]] const std::map<SumKey, Sum>& sums() const noexcept { return sums_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void add(const SpanRecord& record);
  void replace(std::uint64_t place, const SpanRecord& record);

  std::size_t capacity_;
  std::deque<SpanRecord> spans_;
  std::uint64_t first_place_ = 0;
  std::deque<SampleRecord> samples_;
  std::map<SumKey, Sum> sums_;
  std::uint64_t dropped_ = 0;
};

// What frames a profile: how long it looked, and what it could not keep.
struct ProfileFrame {
  std::uint64_t origin = 0;  // the host's time at which the profiler was made or cleared
  std::uint64_t on = 0;      // nanoseconds it was looking since then
  std::size_t capacity = 0;
  ProfileLosses losses;
};

// Everything a trace is written from.
struct ProfileCopy {
  std::vector<SpanRecord> spans;  // device times on the host's clock
  std::vector<SampleRecord> samples;
  std::vector<std::string> names;
  std::vector<std::string> device_labels;  // by id
  std::vector<std::string> device_names;
  ProfileFrame frame;
};

}  // namespace vectis::inline v0_1::detail
