// Why there was no memory: numbers, kind, and what would work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

enum class OutOfMemoryKind : std::uint8_t {
  full,           // this process's live buffers fill the device
  fragmented,     // enough is free, but not in one piece
  held_in_cache,  // enough is cached, but its streams have not passed it yet
  over_limit,     // the pool's own limit says no
  held_by_others  // other processes hold what is missing
};

VECTIS_API std::string_view name(OutOfMemoryKind kind) noexcept;  // "over your limit"

// One rung of the ladder that was tried before giving up.
struct ReclaimStep {
  std::string name;
  std::uint64_t freed_bytes = 0;
};

struct OutOfMemoryReport {
  OutOfMemoryKind kind = OutOfMemoryKind::full;
  std::string device;  // "opencl:0 (name)"
  std::uint64_t requested_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  // on the device, asked afresh; empty where it cannot tell
  std::uint64_t total_bytes = 0;
  std::uint64_t in_use_bytes = 0;  // in live buffers of this pool
  std::uint64_t cached_bytes = 0;  // held by the pool and not in use
  std::uint64_t limit_bytes = 0;
  std::uint64_t largest_bytes = 0;  // the largest request that would succeed now
  std::vector<ReclaimStep> steps;
  std::string advice;
  std::string snapshot_path;  // empty when none was written

  // All of it, for people, in a few lines.
  [[nodiscard]] VECTIS_API std::string text() const;
};

// An Error of code Allocation that explains itself: what() in one sentence, detail() in a few lines, report() as data.
class VECTIS_API OutOfMemoryError : public Error {
 public:
  OutOfMemoryError(std::string_view op, OutOfMemoryReport report);
  [[nodiscard]] const OutOfMemoryReport& report() const noexcept { return *report_; }

 private:
  std::shared_ptr<const OutOfMemoryReport> report_;
};

}  // namespace vectis::inline v0_1
