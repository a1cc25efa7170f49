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

// One line of an allocation log: an allocation, or a release, which has only an id and a time.
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

// Largest size of one buffer, and of all live buffers together, in an allocation log. read_allocation_log throws
// CorruptData for a log that exceeds it.
constexpr std::uint64_t log_live_bytes_max = std::uint64_t{1} << 62;
// Largest stream number in an allocation log. read_allocation_log throws CorruptData for a larger one;
// AllocationRecorder gives streams beyond it the numbers of earlier streams.
constexpr std::uint32_t log_streams_max = 1024;

// A recorded sequence of allocations and releases, as read_allocation_log returns it.
struct AllocationLog {
  // The events in the order they happened. Each id is allocated once and released at most once, after its allocation;
  // times are not negative and do not decrease.
  std::vector<AllocationEvent> events;

  // Returns the number of allocations in the log, without releases.
  [[nodiscard]] VECTIS_API std::size_t allocations() const noexcept;
  // Returns the high-water mark of the bytes live at once, as requested. Ignores releases of ids that were never
  // allocated.
  [[nodiscard]] VECTIS_API std::uint64_t peak_bytes() const;
};

// Reads a whole allocation log from `in`. Throws CorruptData, naming the line and its fault, when the text is empty,
// truncated, of an unknown version or breaks a rule of the format; throws Io when reading from the stream fails.
VECTIS_API AllocationLog read_allocation_log(std::istream& in);
// Checks a log that was not read by read_allocation_log. Throws InvalidInput, naming the index of the event and its
// fault, when the log breaks a rule of AllocationLog::events, an event has a size of 0 or an unknown kind or precision,
// or a limit (log_live_bytes_max, log_streams_max) is exceeded.
VECTIS_API void validate_allocation_log(const AllocationLog& log);
// Writes `log` as text that read_allocation_log accepts. `log` must satisfy validate_allocation_log, which is not
// checked. Does not report a failure to write: check the state of `out` afterwards.
VECTIS_API void write_allocation_log(std::ostream& out, const AllocationLog& log);

// Writes an allocation log as allocations happen. A failure to write never reaches the caller: recording stops and
// complete() returns false. Thread-safe. `out` and `clock` must outlive the recorder.
class VECTIS_API AllocationRecorder {
 public:
  // Writes the header of a log to `out`. With a `clock`, every line has the time since construction; with null, none
  // has. `out` and `clock` must outlive the recorder. When writing fails, nothing is recorded and complete() returns
  // false.
  explicit AllocationRecorder(std::ostream& out, const Executor* clock = nullptr);

  // Writes an allocation. `key` must differ from the keys of all live allocations and may be reused after
  // released(key). Does not throw: when writing fails, recording stops and complete() returns false.
  void allocated(std::uint64_t key, const MemoryRequest& request) noexcept;
  // Writes the release of the allocation `key`. Ignores a key that allocated() did not record, since that allocation
  // was made before recording began. Does not throw: when writing fails, recording stops and complete() returns
  // false.
  void released(std::uint64_t key) noexcept;
  // Returns true as long as every line was written, and false once a line could not be written and recording stopped.
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

// Passes requests on to another resource and writes an allocation log of the successful allocations and their
// deallocations. A failure to write is visible only in complete(). Thread-safe.
class VECTIS_API LogResource final : public MemoryResource {
 public:
  // Wraps `upstream` and writes the header of the log to `out`; with a `clock`, every line has a time. All three must
  // outlive the resource. When writing fails, nothing is logged and complete() returns false.
  LogResource(MemoryResource& upstream, std::ostream& out, const Executor* clock = nullptr);
  // Allocates from the upstream resource and logs the allocation. Throws what the upstream throws: InvalidInput for 0
  // bytes or more than the device's largest allocation, Allocation when memory is short. Logs no failed request.
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  // Logs the release and gives the block, which must come from allocate() of this resource, back to the upstream.
  // `stream` is the stream that used the memory; null: the memory is idle. Does not throw: when writing the log fails,
  // logging stops and complete() returns false.
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  // Returns true as long as every line was written, and false once a line could not be written and logging stopped.
  [[nodiscard]] bool complete() const { return recorder_.complete(); }

 private:
  MemoryResource& upstream_;
  AllocationRecorder recorder_;
};

}  // namespace vectis::inline v0_1
