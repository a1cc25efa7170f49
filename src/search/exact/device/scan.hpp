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

// Counters of one scan on a device, for explanations and tests. Plain data.
struct DeviceScanCounts {
  std::uint64_t streamed_segments = 0;  // not kept on the device
  std::uint64_t overflown_queries = 0;  // scanned again in smaller pieces
};

// Scans segments on one device with the operations scan_bounds and tighten_bounds, two segments at a time, each with
// a stream and buffers of its own, so that copies of one overlap with computing the other. The ranges of rows grow,
// so that limits fall early. Thread-safe; scans wait for each other.
class DeviceScan {
 public:
  DeviceScan(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device), resident_(runtime, device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_.bytes(); }
  // Returns how many queries of `dim` floats one scan for `k` neighbors should take: the setting gpu.batch_size, or
  // fewer when a quarter of the free device memory does not suffice; at least 1.
  [[nodiscard]] std::size_t batch_size(std::size_t dim, std::size_t k) const;

  // Copies the segment to the device ahead of searches if it fits and is new or has grown by a quarter. Does not
  // throw an Error of the device: the search that needs the rows throws it.
  void prepare(const SegmentView& segment);

  // Pushes the rows of the segments at the indexes `chosen` that may be among the k nearest to `candidates`.
  // task.options must be set; `candidates` must be made with `limits`. Throws the device's error with its name,
  // OutOfMemoryError with a batch size that fits, and Cancelled or DeadlineExceeded as the options' context says.
  DeviceScanCounts scan(const SearchTask& task, std::span<const std::size_t> chosen, SharedLimits& limits,
                        Candidates& candidates);

 private:
  [[nodiscard]] std::uint64_t batch_reserve() const;

  Runtime& runtime_;
  Device device_;
  ResidentSegments resident_;
  std::mutex busy_;
};

// Returns the number of candidates for which a scan on a device has room per query: 4 k with k at most 2^20, and at
// least 4096. Does not throw.
[[nodiscard]] std::size_t device_capacity(std::size_t k) noexcept;

}  // namespace vectis::inline v0_1::exact
