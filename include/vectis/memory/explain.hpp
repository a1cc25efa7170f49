// Out-of-memory errors that report the cause, the sizes involved and what would help.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/error.hpp"
#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// The cause of an OutOfMemoryError.
enum class OutOfMemoryKind : std::uint8_t {
  full,           // live buffers of this process fill the device
  fragmented,     // enough is free in total, but not contiguous
  held_in_cache,  // enough is cached, but streams may still use it
  over_limit,     // the pool's limit (set_max_pool_size) would be exceeded
  held_by_others  // other processes hold the missing memory
};

// Returns the cause in words, such as "over your limit"; "unknown" for a value that is no enumerator. Does not throw.
VECTIS_API std::string_view name(OutOfMemoryKind kind) noexcept;

// One step by which a pool tried to free memory before a request failed; OutOfMemoryReport::steps lists these steps.
struct ReclaimStep {
  std::string name;               // "coalescing the cache", or the name of a Reclaimer
  std::uint64_t freed_bytes = 0;  // made available by this step
};

// Why a request for device memory failed: the sizes and limits at that time, the reclaim steps that ran, and advice.
// An OutOfMemoryError carries it.
struct OutOfMemoryReport {
  OutOfMemoryKind kind = OutOfMemoryKind::full;
  std::string device;  // "opencl:0 (name)"
  std::string tag;     // memory tag of the request's Context; empty without one
  std::uint64_t requested_bytes = 0;
  std::optional<std::uint64_t> free_bytes;  // of the device, queried at the failure; empty where it cannot be queried
  std::uint64_t total_bytes = 0;            // of the device
  std::uint64_t in_use_bytes = 0;           // in live buffers of this pool
  std::uint64_t cached_bytes = 0;           // held by the pool and not in use
  std::uint64_t limit_bytes = 0;            // of the pool
  std::uint64_t largest_bytes = 0;          // the largest request that would succeed now
  std::vector<ReclaimStep> steps;           // in the order they ran
  std::string advice;                       // what to change, in one sentence
  std::string snapshot_path;                // HTML page written by the setting memory.snapshots; empty without it

  // Returns the whole report as a few lines of text: request, device, pool, reclaim steps, largest request that would
  // fit, advice.
  [[nodiscard]] VECTIS_API std::string text() const;
};

// The error that a MemoryPool throws when neither its cache, the device nor the reclaimers can provide a buffer. Its
// code is Allocation; what() is one sentence, detail() is the report as text, and report() is the report as data.
class VECTIS_API OutOfMemoryError : public Error {
 public:
  // Makes an error of code Allocation in the operation `op`, whose what() and detail() are formatted from `report`.
  OutOfMemoryError(std::string_view op, OutOfMemoryReport report);
  [[nodiscard]] const OutOfMemoryReport& report() const noexcept { return *report_; }

 private:
  std::shared_ptr<const OutOfMemoryReport> report_;
};

}  // namespace vectis::inline v0_1
