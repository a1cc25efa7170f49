// Exact search over segments on one or several devices.
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

// How devices share a search: shards have some segments and all queries, replicas all segments and some queries.
enum class DeviceSplit : std::uint8_t { shards, replicas };

struct DeviceSearchAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, equal distances by lower id
  std::uint64_t rows_scanned = 0;
  std::uint64_t reranked = 0;
  DeviceScanCounts counts;
};

// Thread-safe. Segments stay in device memory until they no longer exist or the pool needs memory.
class DeviceSearch {
 public:
  // Precondition: at least one device.
  DeviceSearch(Runtime& runtime, std::span<const Device> devices);

  // The nearest rows by exact_distance, in batches of gpu.batch_size. Throws what a device throws, with its name; the
  // search is not repeated elsewhere.
  [[nodiscard]] DeviceSearchAnswer search(const SearchTask& task, DeviceSplit split = DeviceSplit::shards);
  // Copies new segments to the devices. A segment that grew little is copied by the search that needs it.
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
