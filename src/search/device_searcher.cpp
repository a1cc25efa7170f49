#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "search/searchers.hpp"

namespace vectis::inline v0_1::exact {

namespace {

class DeviceSearcher final : public Searcher {
 public:
  DeviceSearcher(Runtime& runtime, std::span<const Device> devices, DeviceSplit split, std::string reason)
      : search_(runtime, devices),
        devices_(devices.begin(), devices.end()),
        split_(split),
        reason_(std::move(reason)) {}

  [[nodiscard]] ExactAnswer search(const SearchTask& task) const override {
    DeviceSearchAnswer found = search_.search(task, split_);
    ExactAnswer answer;
    answer.hits = std::move(found.hits);
    answer.explanation.device = search_.labels();
    answer.explanation.way = way_of(found.counts);
    answer.explanation.reason = reason_;
    answer.explanation.rows_scanned = found.rows_scanned;
    answer.explanation.survivors = found.survivors;
    return answer;
  }

  [[nodiscard]] std::string explain(const SearchTask& task, std::size_t queries) const override {
    return fmt::format("a search of {} queries for the {} nearest: {}, {} bytes there; {}\n", queries, task.k,
                       search_.labels(), search_.resident_bytes(), reason_);
  }

  [[nodiscard]] IndexDevices devices() const override { return {devices_, reason_}; }

  void prepare(std::span<const SegmentView> segments) override { search_.prepare(segments, split_); }

  [[nodiscard]] std::uint64_t resident_bytes() const override { return search_.resident_bytes(); }

 private:
  static std::string way_of(const DeviceScanCounts& counts) {
    std::string way = "scan_bounds, tighten_bounds";
    if (counts.streamed_segments > 0) way += fmt::format("; {} segments streamed", counts.streamed_segments);
    if (counts.overflown_queries > 0) way += fmt::format("; {} queries scanned again", counts.overflown_queries);
    return way;
  }

  mutable DeviceSearch search_;  // thread-safe; keeps segments on its devices
  std::vector<Device> devices_;
  DeviceSplit split_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<Searcher> make_device_searcher(Runtime& runtime, std::span<const Device> devices, DeviceSplit split,
                                               std::string reason) {
  return std::make_unique<DeviceSearcher>(runtime, devices, split, std::move(reason));
}

}  // namespace vectis::inline v0_1::exact
