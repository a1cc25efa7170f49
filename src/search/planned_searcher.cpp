#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "search/exact_work.hpp"
#include "search/searchers.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"
#include "vectis/plan/planner.hpp"

namespace vectis::inline v0_1::exact {

namespace {

// A device, its search once it was needed, and what it holds.
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
  PlannedSearcher(Runtime& runtime, std::span<const Device> devices)
      : runtime_(runtime),
        cpu_(runtime.service<DeviceRegistry>().find("cpu").value()),
        host_(make_host_searcher(runtime.executor(), {})) {
    for (const Device& device : devices) options_.push_back(std::make_unique<DeviceOption>(runtime, device));
  }

  [[nodiscard]] ExactAnswer search(const SearchTask& task) const override {
    const std::vector<Placement> ways = ways_of(task, task.query_count());
    const Choice choice = planner(runtime_).choose(ways);
    const std::uint64_t begin = monotonic_nanoseconds();
    ExactAnswer answer = (choice.index == 0 ? *host_ : options_[choice.index - 1]->searcher()).search(task);
    const double seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
    planner(runtime_).record(ways[choice.index], seconds);
    answer.explanation.reason = choice.reason;
    return answer;
  }

  [[nodiscard]] std::string explain(const SearchTask& task, std::size_t queries) const override {
    return fmt::format("a search of {} queries for the {} nearest:\n{}", queries, task.k,
                       planner(runtime_).choose(ways_of(task, std::max<std::size_t>(queries, 1))).explain());
  }

  [[nodiscard]] IndexDevices devices() const override {
    IndexDevices all{{}, "each search goes where it is predicted to be answered first, here or there"};
    for (const auto& option : options_) all.devices.push_back(option->device());
    return all;
  }

  [[nodiscard]] std::uint64_t resident_bytes() const override {
    std::uint64_t sum = 0;
    for (const auto& option : options_) sum += option->resident_bytes();
    return sum;
  }

 private:
  // This processor first, then the devices.
  [[nodiscard]] std::vector<Placement> ways_of(const SearchTask& task, std::size_t queries) const {
    std::vector<Placement> ways{{cpu_, work_on_host(task, queries)}};
    for (const auto& option : options_) {
      ways.emplace_back(option->device(), work_on_device(task, queries, static_cast<double>(option->resident_bytes())));
    }
    return ways;
  }

  Runtime& runtime_;
  Device cpu_;
  std::unique_ptr<Searcher> host_;
  std::vector<std::unique_ptr<DeviceOption>> options_;
};

}  // namespace

std::unique_ptr<Searcher> make_planned_searcher(Runtime& runtime, std::span<const Device> devices) {
  return std::make_unique<PlannedSearcher>(runtime, devices);
}

}  // namespace vectis::inline v0_1::exact
