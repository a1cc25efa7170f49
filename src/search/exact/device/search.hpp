// Exact search over segments with one device or several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/exact/device/scan.hpp"
#include "search/exact/segment.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// How several devices share a search: each has some of the segments and all queries, or all segments and some queries.
enum class DeviceSplit : std::uint8_t { shards, replicas };

struct DeviceSearchAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, ties by lower id
  std::uint64_t rows_scanned = 0;
  std::uint64_t reranked = 0;
  DeviceScanCounts counts;
};

// Thread-safe. The devices keep what they scanned until the segments are gone or memory is short.
class DeviceSearch {
 public:
  // At least one device.
  DeviceSearch(Runtime& runtime, std::span<const Device> devices);

  // The nearest rows by exact_distance, in batches of gpu.batch_size. A device that fails is an Error with its name;
  // nothing is tried elsewhere.
  [[nodiscard]] DeviceSearchAnswer search(const SearchTask& task, DeviceSplit split = DeviceSplit::shards);
  // Brings what these segments have that is not there yet. A segment that grew by little waits for the search that
  // needs it.
  void prepare(std::span<const SegmentView> segments, DeviceSplit split);
  [[nodiscard]] std::string labels() const;  // "opencl:0, opencl:1"
  [[nodiscard]] std::uint64_t resident_bytes() const;

 private:
  void search_batch(const SearchTask& task, DeviceSplit split, std::span<std::vector<Hit>> hits,
                    DeviceSearchAnswer& answer);

  Runtime& runtime_;
  std::vector<std::unique_ptr<DeviceScan>> scans_;
};

}  // namespace vectis::inline v0_1::exact
