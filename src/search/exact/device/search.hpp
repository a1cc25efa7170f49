// Exact search over segments on one or several devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/exact/device/batch_tuner.hpp"
#include "search/exact/device/scan.hpp"
#include "search/exact/segment.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// How devices share a search. shards: each device scans some segments for all queries, those added while it was the
// active device and a share of the others. replicas: each device scans all segments for some queries.
enum class DeviceSplit : std::uint8_t { shards, replicas };

// The hits of an exact search on devices, and its counters.
struct DeviceSearchAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, equal distances by lower id
  std::uint64_t rows_scanned = 0;
  std::uint64_t reranked = 0;
  DeviceScanCounts counts;
};

// Exact search over segments on one or several devices. Segments stay in device memory until they no longer exist or
// the pool needs memory. Thread-safe.
class DeviceSearch {
 public:
  // Makes a searcher for these devices. Preconditions, not checked: at least one device; `runtime` outlives the
  // object.
  DeviceSearch(Runtime& runtime, std::span<const Device> devices);

  // Returns the task.k nearest rows of each query by exact_distance, in batches of at most gpu.batch_size queries and
  // of the size that was measured to be fastest; other searches of the devices wait for at most sixteen of them.
  // task.options must be set. Throws the error of a device, with its name, without trying another device; Cancelled or
  // DeadlineExceeded as the options' context says.
  [[nodiscard]] DeviceSearchAnswer search(const SearchTask& task, DeviceSplit split = DeviceSplit::shards);
  // Copies new segments to the devices that scan them under `split`. A segment that grew little is copied by the
  // search that needs it. Does not throw an Error of a device: that search throws it.
  void prepare(std::span<const SegmentView> segments, DeviceSplit split);
  [[nodiscard]] std::string labels() const;  // "opencl:0, opencl:1"
  // Returns the bytes of device memory that segments occupy on all devices.
  [[nodiscard]] std::uint64_t resident_bytes() const;

 private:
  // Returns for each segment the position of the device that scans it under `shards`: the segment's own device, else
  // the devices in turn.
  [[nodiscard]] std::vector<std::size_t> shards_of(std::span<const SegmentView> segments) const;
  // Searches some queries, of which each device scans its share.
  void search_some(const SearchTask& task, DeviceSplit split, std::size_t batch_max, std::span<std::vector<Hit>> hits,
                   DeviceSearchAnswer& answer);

  Runtime& runtime_;
  std::vector<std::unique_ptr<DeviceScan>> scans_;
  std::unique_ptr<BatchTuner> tuner_ = std::make_unique<BatchTuner>();  // has a mutex; a DeviceSearch moves
};

}  // namespace vectis::inline v0_1::exact
