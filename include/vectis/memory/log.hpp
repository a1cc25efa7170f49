// What was allocated and released, in order, as text that can be read, compared and replayed.
// docs/formats/allocation-log.md describes the format.
//
//   std::ofstream file("mine.log");
//   LogResource recorded(device, file);   // everything that goes through it is written
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

// One line of a log. A release has only id and time.
struct AllocationEvent {
  enum class Kind : std::uint8_t { allocate, release };

  Kind kind = Kind::allocate;
  std::uint64_t id = 0;  // names one allocation of the log, never reused
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  std::uint32_t stream = 0;  // 0: none, else the log's own number of it
  std::string tag;
  std::optional<Duration> time;  // since the log began

  bool operator==(const AllocationEvent&) const = default;
};

// The most a log may say; beyond it is CorruptData.
constexpr std::uint64_t log_live_bytes_max = std::uint64_t{1} << 62;  // of one buffer, and of all that live at once
constexpr std::uint32_t log_streams_max = 1024;

struct AllocationLog {
  // In order: an id is allocated once, released at most once and after that; times never go back.
  std::vector<AllocationEvent> events;

  [[nodiscard]] VECTIS_API std::size_t allocations() const noexcept;
  [[nodiscard]] VECTIS_API std::uint64_t peak_bytes() const;  // asked for and live at once
};

// CorruptData, naming the line and what is wrong with it, for anything that is not such a log; Io when `in` fails.
VECTIS_API AllocationLog read_allocation_log(std::istream& in);
VECTIS_API void write_allocation_log(std::ostream& out, const AllocationLog& log);

// Writes a log while things happen. Recording never disturbs what is recorded: when `out` fails it stops, and
// complete() says so. Thread-safe; `out` and `clock` outlive it.
class VECTIS_API AllocationRecorder {
 public:
  // With a clock every line carries its time.
  explicit AllocationRecorder(std::ostream& out, const Executor* clock = nullptr);

  // `key` names a live allocation in the caller's way and may come again after its release. A release of a key that
  // is not live is left out: it was allocated before recording began.
  void allocated(std::uint64_t key, const MemoryRequest& request) noexcept;
  void released(std::uint64_t key) noexcept;
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
  std::unordered_map<std::uint64_t, std::uint64_t> ids_;                         // live ones, by key
  std::unordered_map<const detail::StreamCore*, std::uint32_t> stream_numbers_;  // in order of first use
};

// Records what goes through it: allocations that succeed and their returns.
class VECTIS_API LogResource final : public MemoryResource {
 public:
  LogResource(MemoryResource& upstream, std::ostream& out, const Executor* clock = nullptr);
  [[nodiscard]] MemoryBlock allocate(const MemoryRequest& request) override;
  void deallocate(MemoryBlock block, Stream* stream) noexcept override;
  [[nodiscard]] DeviceContext context() const override { return upstream_.context(); }
  // False once something could not be written.
  [[nodiscard]] bool complete() const { return recorder_.complete(); }

 private:
  MemoryResource& upstream_;
  AllocationRecorder recorder_;
};

}  // namespace vectis::inline v0_1
