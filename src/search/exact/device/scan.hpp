// Exact search's scan on one device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "search/exact/candidates.hpp"
#include "search/exact/device/resident.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::exact {

// What a scan did, for explanations and tests.
struct DeviceScanCounts {
  std::uint64_t streamed_segments = 0;  // that did not stay on the device
  std::uint64_t overflown_queries = 0;  // scanned again in smaller pieces
};

// Finds candidates with the operations scan_bounds and tighten_bounds, segment after segment: two at a time, each with
// a stream and memory of its own, so that copies of one run beside the computing of the other. Pieces of a segment
// grow, so that the limit falls early. Thread-safe; searches wait for each other.
class DeviceScan {
 public:
  DeviceScan(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device), resident_(runtime, device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_.bytes(); }
  // Queries a scan takes at once: the setting gpu.batch_size, or fewer when the device's memory is small.
  [[nodiscard]] std::size_t batch_size(std::size_t dim, std::size_t k) const;

  // Brings the segment there while nobody waits for it, if there is room and if it is new or has grown much. Never
  // throws what the device throws: a search does, when it needs the rows.
  void prepare(const SegmentView& segment);

  // Everything of the task's segments named by `chosen` that may be among the nearest goes to `candidates`. Throws what
  // the device throws, with its name; OutOfMemoryError suggests a batch that fits.
  DeviceScanCounts scan(const SearchTask& task, std::span<const std::size_t> chosen, SharedLimits& limits,
                        Candidates& candidates);

 private:
  [[nodiscard]] std::uint64_t batch_reserve() const;

  Runtime& runtime_;
  Device device_;
  ResidentSegments resident_;
  std::mutex busy_;
};

// Places for candidates of one query: for all rows of the first piece, and for several times k.
[[nodiscard]] std::size_t device_capacity(std::size_t k) noexcept;

}  // namespace vectis::inline v0_1::exact
