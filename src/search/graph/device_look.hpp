// Walks of many queries at once on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "search/graph/corpus.hpp"
#include "search/graph/device_rows.hpp"
#include "search/graph/look.hpp"

namespace vectis::inline v0_1::graph {

// Keeps the rows of a corpus on a device: they are brought there by the first search after a change. Thread-safe; one
// search at a time is there.
class DeviceLook {
 public:
  DeviceLook(Runtime& runtime, const Device& device) : runtime_(runtime), device_(device) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t bytes() const;

  // The rows that walks found for each query, nearest first by their coordinates, of which the best `width` are kept.
  // Some may not be visible in the epoch. Returns how many distances were computed.
  std::uint64_t find(const Epoch& epoch, const Effort& effort, std::size_t width, std::span<const float> queries,
                     RowLists& found);

 private:
  void bring(const Epoch& epoch);

  Runtime& runtime_;
  Device device_;
  mutable std::mutex mutex_;
  std::unique_ptr<DeviceRows> rows_;
  std::weak_ptr<const Body> body_;  // whose they are
  std::uint64_t epoch_ = 0;         // and since which change
};

}  // namespace vectis::inline v0_1::graph
