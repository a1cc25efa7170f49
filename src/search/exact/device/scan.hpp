// Scans segments on one device.
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

// Counters of a scan, for explanations and tests.
struct DeviceScanCounts {
  std::uint64_t streamed_segments = 0;  // not kept on the device
  std::uint64_t overflown_queries = 0;  // scanned again in smaller pieces
};

// Finds candidates with the operations scan_bounds and tighten_bounds, two segments at a time, each with a stream and
// buffers of its own, so that copies of one overlap with computing the other. Row ranges grow, so that the limit falls
// early. Thread-safe; searches wait for each other.
class DeviceScan {
 public:
  DeviceScan(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device), resident_(runtime, device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_.bytes(); }
  // Queries of a batch: the setting gpu.batch_size, or fewer when device memory is small.
  [[nodiscard]] std::size_t batch_size(std::size_t dim, std::size_t k) const;

  // Copies the segment ahead of searches, if it fits and is new or has grown much. Ignores failures of the device: the
  // search that needs the rows reports them.
  void prepare(const SegmentView& segment);

  // Pushes the rows of the chosen segments that may be among the nearest to `candidates`. Throws what the device
  // throws, with the device's name; OutOfMemoryError suggests a batch size that fits.
  DeviceScanCounts scan(const SearchTask& task, std::span<const std::size_t> chosen, SharedLimits& limits,
                        Candidates& candidates);

 private:
  [[nodiscard]] std::uint64_t batch_reserve() const;

  Runtime& runtime_;
  Device device_;
  ResidentSegments resident_;
  std::mutex busy_;
};

// Slots for candidates of one query: enough for all rows of the first range, and for 4 k.
[[nodiscard]] std::size_t device_capacity(std::size_t k) noexcept;

}  // namespace vectis::inline v0_1::exact
