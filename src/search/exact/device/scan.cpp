#include "search/exact/device/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "search/common/device_failure.hpp"
#include "search/exact/device/lane.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/settings.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t lane_count = 2;
constexpr std::size_t capacity_min = 4096;
constexpr std::uint64_t batch_share = 4;  // a batch takes at most 1/4 of the free memory; rows need the rest

// Bytes of device memory that a query needs in both lanes.
std::uint64_t query_bytes(std::size_t dim, std::size_t capacity) noexcept {
  constexpr std::uint64_t slot = sizeof(std::int32_t) + 2 * sizeof(float);
  return lane_count * (3 * capacity * slot + dim * sizeof(float) + 64);
}

// The largest batch of queries of `bytes_each` when `bytes` are free.
std::uint64_t fitting_queries(std::uint64_t bytes, std::uint64_t bytes_each) noexcept {
  return bytes / batch_share / bytes_each;
}

// An estimate of the device memory that a scan can allocate.
std::uint64_t available_bytes(Runtime& runtime, const Device& device) {
  const auto stats = memory_pool(runtime).get_memory_stats(device.id());
  if (!stats) return 0;
  const std::uint64_t allowed = stats->limit_bytes - std::min(stats->in_use_bytes, stats->limit_bytes);
  try {
    if (const auto now = device.memory()) return std::min(allowed, stats->cached_bytes + now->free_bytes);
  } catch (const Error&) {  // the device does not report it
  }
  return allowed;
}

// Rethrows the current error with the device's name; for out of memory with a batch size that fits.
[[noreturn]] void rethrow_named(Runtime& runtime, const Device& device, const SearchTask& task) {
  try {
    throw;
  } catch (const OutOfMemoryError& error) {
    OutOfMemoryReport report = error.report();
    const std::uint64_t fitting =
        fitting_queries(available_bytes(runtime, device), query_bytes(task.dim, device_capacity(task.k)));
    const std::uint64_t half = task.query_count() / 2;
    if (half > 0) {
      report.advice = fmt::format("search in smaller batches: set gpu.batch_size to {}",
                                  std::clamp<std::uint64_t>(fitting, 1, half));
    }
    throw OutOfMemoryError("search", std::move(report));
  } catch (...) {
    detail::rethrow_as_device_failure(device);
  }
}

// One scan: segments are assigned to the lanes in turn.
class ScanRun {
 public:
  ScanRun(Runtime& runtime, const Device& device, ResidentSegments& resident, const SearchTask& task,
          SharedLimits& limits, Candidates& candidates)
      : runtime_(runtime),
        device_(device),
        resident_(resident),
        task_(task),
        limits_(limits),
        candidates_(candidates) {}

  DeviceScanCounts run(std::span<const std::size_t> chosen) {
    const std::size_t capacity = device_capacity(task_.k);
    const std::size_t used = std::min(lane_count, chosen.size());
    for (std::size_t i = 0; i < used; ++i) {
      lanes_[i].emplace(memory_pool(runtime_), device_.id(), task_, capacity);
    }
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      task_.options->context.check("search", runtime_.executor());
      DeviceLane& lane = *lanes_[i % used];
      finish(lane);
      auto resident = resident_.get(task_.segments[chosen[i]], lane.stream(), staging_bytes());
      if (resident == nullptr) ++counts_.streamed_segments;
      lane.start(chosen[i], std::move(resident), limits_);
    }
    for (std::size_t i = 0; i < used; ++i) finish(*lanes_[(chosen.size() + i) % used]);
    return counts_;
  }

 private:
  void finish(DeviceLane& lane) {
    if (lane.busy()) counts_.overflown_queries += lane.finish(limits_, candidates_);
  }

  // Bytes that streamed segments need besides the resident ones.
  [[nodiscard]] std::uint64_t staging_bytes() const noexcept {
    std::size_t rows = 0;
    for (const SegmentView& segment : task_.segments) rows = std::max(rows, segment.rows);
    return lane_count * rows * (task_.dim * sizeof(float) + device_terms * sizeof(float));
  }

  Runtime& runtime_;
  const Device& device_;
  ResidentSegments& resident_;
  const SearchTask& task_;
  SharedLimits& limits_;
  Candidates& candidates_;
  std::array<std::optional<DeviceLane>, lane_count> lanes_;
  DeviceScanCounts counts_;
};

}  // namespace

std::size_t device_capacity(std::size_t k) noexcept {
  return std::max(capacity_min, 4 * std::min<std::size_t>(k, std::size_t{1} << 20));
}

std::size_t DeviceScan::batch_size(std::size_t dim, std::size_t k) const {
  const std::uint64_t wanted = std::max<std::uint64_t>(runtime_.settings().number("gpu.batch_size"), 1);
  const auto stats = memory_pool(runtime_).get_memory_stats(device_.id());
  const std::uint64_t limit = stats ? stats->limit_bytes : device_.info().memory_bytes / 2;
  const std::uint64_t used = stats ? stats->in_use_bytes : 0;
  const std::uint64_t fitting = fitting_queries(limit > used ? limit - used : 0, query_bytes(dim, device_capacity(k)));
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(fitting, 1, wanted));
}

void DeviceScan::prepare(const SegmentView& segment) {
  if (segment.rows == 0 || !resident_.wants(segment)) return;
  try {
    Stream stream(memory_pool(runtime_).get_managed_buffer(device_.id(), 1, Precision::fp32).memory().context());
    (void)resident_.get(segment, stream, batch_reserve());
  } catch (const Error&) {  // the search that needs the rows reports the failure
  }
}

// Bytes for a batch of queries, which searches need besides the rows.
std::uint64_t DeviceScan::batch_reserve() const {
  const auto stats = memory_pool(runtime_).get_memory_stats(device_.id());
  return stats ? stats->limit_bytes / batch_share : 0;
}

DeviceScanCounts DeviceScan::scan(const SearchTask& task, std::span<const std::size_t> chosen, SharedLimits& limits,
                                  Candidates& candidates) {
  if (chosen.empty() || task.query_count() == 0 || task.k == 0) return {};
  const std::lock_guard lock(busy_);
  try {
    return ScanRun(runtime_, device_, resident_, task, limits, candidates).run(chosen);
  } catch (...) {
    rethrow_named(runtime_, device_, task);
  }
}

}  // namespace vectis::inline v0_1::exact
