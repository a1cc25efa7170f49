// Scans segments on one device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "search/exact/candidates.hpp"
#include "search/exact/device/batch_tuner.hpp"
#include "search/exact/device/lane.hpp"
#include "search/exact/device/resident.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::exact {

inline constexpr std::size_t lane_count = 2;

// Counters of one scan on a device, for explanations and tests. Plain data.
struct DeviceScanCounts {
  std::uint64_t streamed_segments = 0;  // not kept on the device
  std::uint64_t overflown_queries = 0;  // scanned again in smaller pieces
  std::uint64_t reranked = 0;           // rows compared by their vectors
};

// Scans segments on one device with the operations scan_bounds and tighten_bounds. Two batches of queries are under way
// at a time, each with a stream and buffers of its own: while the device scans for one, the host prepares the queries
// of the next and compares the candidates of the one before. Thread-safe; scans wait for each other.
class DeviceScan {
 public:
  DeviceScan(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device), resident_(runtime, device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t resident_bytes() const { return resident_.bytes(); }
  // Returns how many queries of `dim` floats one batch for `k` neighbors should have: the setting gpu.batch_size, or
  // fewer when a quarter of the free device memory does not suffice; at least 1.
  [[nodiscard]] std::size_t batch_size(std::size_t dim, std::size_t k) const;

  // Copies the segments at the indexes `chosen` to the device ahead of searches: those that fit and are new or have
  // grown by a quarter. Does not throw an Error of the device: the search that needs the rows throws it.
  void prepare(std::span<const SegmentView> segments, std::span<const std::size_t> chosen);

  // Sets hits[i] to the task.k nearest rows to query i among the segments at the indexes `chosen`, which may be none.
  // `tuner` chooses the sizes of batches up to `batch_max`. task.options must be set, without a filter. Throws the
  // device's error with its name, OutOfMemoryError with a batch size that fits, and Cancelled or DeadlineExceeded as
  // the options' context says.
  DeviceScanCounts scan(const SearchTask& task, std::span<const std::size_t> chosen, BatchTuner& tuner,
                        std::size_t batch_max, std::span<std::vector<Hit>> hits);

 private:
  [[nodiscard]] std::uint64_t batch_reserve() const;

  Runtime& runtime_;
  Device device_;
  ResidentSegments resident_;
  std::mutex busy_;
  std::array<std::optional<LaneResources>, lane_count> lanes_;  // guarded by busy_
};

// Returns the number of candidates for which a scan on a device has room per query: 4 k with k at most 2^20, and at
// least 4096. Does not throw.
[[nodiscard]] std::size_t device_capacity(std::size_t k) noexcept;

}  // namespace vectis::inline v0_1::exact
