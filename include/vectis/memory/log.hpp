// Allocation logs: every allocation and release in order, as text that can be read, compared and replayed.
// docs/formats/allocation-log.md describes the format.
//
//   std::ofstream file("allocations.log");
//   LogResource logged(device, file);   // logs everything allocated through it
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/export.hpp"
#include "vectis/base/time.hpp"
#include "vectis/memory/resource.hpp"

namespace vectis::inline v0_1 {

// One line of a log. A release has only an id and a time.
struct AllocationEvent {
  enum class Kind : std::uint8_t { allocate, release };

  Kind kind = Kind::allocate;
  std::uint64_t id = 0;  // of the allocation; never reused within a log
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  std::uint32_t stream = 0;  // 0 without a stream, else numbered from 1 by first use
  std::string tag;
  std::optional<Duration> time;  // since the start of the log; empty when it has no times

  bool operator==(const AllocationEvent&) const = default;
};

// Limits of the format; a log that exceeds them is CorruptData.
constexpr std::uint64_t log_live_bytes_max = std::uint64_t{1} << 62;  // of one buffer, and of all live ones together
constexpr std::uint32_t log_streams_max = 1024;

struct AllocationLog {
  // In order: each id is allocated once and released at most once, later; times do not decrease.
  std::vector<AllocationEvent> events;

  [[nodiscard]] VECTIS_API std::size_t allocations() const noexcept;
  [[nodiscard]] VECTIS_API std::uint64_t peak_bytes() const;  // high-water mark of live bytes, as requested
};

// Reads a whole log. Throws CorruptData, naming the line and its fault, for anything else; Io when reading fails.
VECTIS_API AllocationLog read_allocation_log(std::istream& in);
// Writes a log that read_allocation_log accepts. `log` must satisfy the invariants of AllocationLog.
VECTIS_API void write_allocation_log(std::ostream& out, const AllocationLog& log);

// Writes a log as allocations happen. A failure to write never reaches the caller: recording stops and complete()
// returns false. Thread-safe. `out` and `clock` must outlive the recorder.
class VECTIS_API AllocationRecorder {
 public:
  // With a clock every line has a time.
  explicit AllocationRecorder(std::ostream& out, const Executor* clock = nullptr);

  // `key` identifies a live allocation and may be reused after its release. Releases of unknown keys are skipped: they
  // were allocated before recording began.
  void allocated(std::uint64_t key, const MemoryRequest& request) noexcept;
  void released(std::uint64_t key) noexcept;
  // False once a line could not be written.
  [[nodiscard]] bool complete() const;

 private:
  void write(const AllocationEvent& event);
  std::uint32_t number_of(const Stream* stream);
  [[nodiscard]] std::optional<Duration> elapsed() const;

  std::ostream& out_;
  const Executor* clock_;
  TimePoint start_{};
  mutable std::mutex mutex_;
  bool complete_ = true;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;                         // of live allocations, by key
  std::unordered_map<const detail::StreamCore*, std::uint32_t> stream_numbers_;  // in order of first use
};

// Logs the successful allocations made through it, and their deallocations.
class VECTIS_API LogResource final : public MemoryResource {
 public:
  LogResource(MemoryResource& upstream, std::ostream& out, const Executor* clock = nullptr);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  // False once a line could not be written.
  [[nodiscard]] bool complete() const { return recorder_.complete(); }

 private:
  MemoryResource& upstream_;
  AllocationRecorder recorder_;
};

}  // namespace vectis::inline v0_1
