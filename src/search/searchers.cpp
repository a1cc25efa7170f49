#include "search/searchers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "search/exact/host_search.hpp"
#include "search/workloads.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/device/selection.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis::inline v0_1::exact {

namespace {

class DeviceSearcher final : public Searcher {
 public:
  DeviceSearcher(Runtime& runtime, std::span<const Device> devices, DeviceSplit split, std::string reason)
      : runtime_(runtime),
        search_(runtime, devices),
        devices_(devices.begin(), devices.end()),
        split_(split),
        reason_(std::move(reason)) {}

  [[nodiscard]] ExactAnswer search(const SearchTask& task) const override {
    DeviceSearchAnswer found = search_.search(task, split_);
    ExactAnswer answer;
    answer.hits = std::move(found.hits);
    answer.explanation.device = search_.labels();
    answer.explanation.kernel = kernel_text(found.counts);
    answer.explanation.reason = reason_;
    answer.explanation.rows_scanned = found.rows_scanned;
    answer.explanation.reranked = found.reranked;
    return answer;
  }

  [[nodiscard]] std::string explain(const SearchTask& task, std::size_t queries) const override {
    return fmt::format("a search of {} queries for the {} nearest: {}, {} bytes in device memory; {}\n", queries,
                       task.k, search_.labels(), search_.resident_bytes(), reason_);
  }

  [[nodiscard]] IndexDevices devices() const override { return {devices_, reason_, false}; }

  [[nodiscard]] std::optional<int> device_for_rows() const override {
    if (split_ != DeviceSplit::shards || devices_.size() < 2) return std::nullopt;
    const std::optional<Device> active = thread_device(runtime_);
    if (!active || std::ranges::find(devices_, *active) == devices_.end()) return std::nullopt;
    return active->id();
  }

  void prepare(std::span<const SegmentView> segments) override { search_.prepare(segments, split_); }

  [[nodiscard]] std::uint64_t resident_bytes() const override { return search_.resident_bytes(); }

 private:
  static std::string kernel_text(const DeviceScanCounts& counts) {
    std::string text = "scan_bounds, tighten_bounds";
    if (counts.streamed_segments > 0) text += fmt::format("; {} segments streamed", counts.streamed_segments);
    if (counts.overflown_queries > 0) text += fmt::format("; {} queries scanned again", counts.overflown_queries);
    return text;
  }

  Runtime& runtime_;
  mutable DeviceSearch search_;  // thread-safe; keeps segments on its devices
  std::vector<Device> devices_;
  DeviceSplit split_;
  std::string reason_;
};

// A device, with a searcher that is made when it is first needed. Thread-safe.
class DeviceOption {
 public:
  DeviceOption(Runtime& runtime, Device device) : runtime_(runtime), device_(std::move(device)) {}

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] const Searcher& searcher() {
    const std::lock_guard lock(mutex_);
    if (!searcher_) searcher_ = make_device_searcher(runtime_, std::span(&device_, 1), DeviceSplit::shards, {});
    return *searcher_;
  }
  [[nodiscard]] std::uint64_t resident_bytes() {
    const std::lock_guard lock(mutex_);
    return searcher_ ? searcher_->resident_bytes() : 0;
  }

 private:
  Runtime& runtime_;
  Device device_;
  std::mutex mutex_;
  std::unique_ptr<Searcher> searcher_;
};

class PlannedSearcher final : public Searcher {
 public:
  PlannedSearcher(Runtime& runtime, std::span<const Device> devices, std::string reason)
      : runtime_(runtime), cpu_(runtime.service<DeviceRegistry>().find("cpu").value()), reason_(std::move(reason)) {
    for (const Device& device : devices) options_.push_back(std::make_unique<DeviceOption>(runtime, device));
  }

  [[nodiscard]] ExactAnswer search(const SearchTask& task) const override {
    const std::vector<Placement> placements = placements_of(task, task.query_count());
    const Choice choice = planner(runtime_).choose(placements);
    const std::uint64_t begin = monotonic_nanoseconds();
    ExactAnswer answer = choice.index == 0 ? host_search(runtime_.executor(), task)
                                           : options_[choice.index - 1]->searcher().search(task);
    const double seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
    planner(runtime_).record(placements[choice.index], seconds);
    answer.explanation.reason = choice.reason;
    return answer;
  }

  [[nodiscard]] std::string explain(const SearchTask& task, std::size_t queries) const override {
    return fmt::format("a search of {} queries for the {} nearest:\n{}", queries, task.k,
                       planner(runtime_).choose(placements_of(task, std::max<std::size_t>(queries, 1))).explain());
  }

  [[nodiscard]] IndexDevices devices() const override {
    IndexDevices all{{}, reason_};
    for (const auto& option : options_) all.devices.push_back(option->device());
    return all;
  }

  [[nodiscard]] std::uint64_t resident_bytes() const override {
    std::uint64_t sum = 0;
    for (const auto& option : options_) sum += option->resident_bytes();
    return sum;
  }

 private:
  // The host first, then the devices.
  [[nodiscard]] std::vector<Placement> placements_of(const SearchTask& task, std::size_t queries) const {
    std::vector<Placement> placements{{cpu_, work_on_host(task, queries)}};
    for (const auto& option : options_) {
      placements.emplace_back(option->device(),
                              work_on_device(task, queries, static_cast<double>(option->resident_bytes())));
    }
    return placements;
  }

  Runtime& runtime_;
  Device cpu_;
  std::string reason_;
  std::vector<std::unique_ptr<DeviceOption>> options_;
};

}  // namespace

std::unique_ptr<Searcher> make_device_searcher(Runtime& runtime, std::span<const Device> devices, DeviceSplit split,
                                               std::string reason) {
  return std::make_unique<DeviceSearcher>(runtime, devices, split, std::move(reason));
}

std::unique_ptr<Searcher> make_planned_searcher(Runtime& runtime, std::span<const Device> devices, std::string reason) {
  return std::make_unique<PlannedSearcher>(runtime, devices, std::move(reason));
}

}  // namespace vectis::inline v0_1::exact
