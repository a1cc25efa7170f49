#include "search/exact/device/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "device/cores.hpp"
#include "memory/device_pool.hpp"
#include "search/common/device_failure.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/settings.hpp"
#include "vectis/base/time.hpp"
#include "vectis/memory/explain.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr std::size_t capacity_min = 4096;
constexpr std::size_t compare_grain = 16;     // queries
constexpr std::size_t first_batch_share = 4;  // the first of several batches has 1/4 of the queries of the others
constexpr std::uint64_t batch_share = 4;      // a batch takes at most 1/4 of the free memory; rows need the rest

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
    const auto now = device.memory();
    return now ? std::min(allowed, stats->cached_bytes + now->free_bytes) : allowed;
  } catch (const Error&) {
    return allowed;  // the device does not report it
  }
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

// Enough for the k nearest and as many whose bounds overlap theirs, so that one copy brings all of most queries.
std::size_t fetched_columns(std::size_t k) noexcept { return 2 * std::min<std::size_t>(k, std::size_t{1} << 20U) + 32; }

// Whether the stream is of this context, and none of its work has failed: the pool may notice that between searches.
bool is_usable(const LaneResources& resources, const DeviceContext& context) {
  return resources.stream.context().core() == context.core() && !resources.stream.core()->sticky->is_set();
}

// The context in which the memory of rows and queries is allocated. Throws the error of a device that cannot be used.
DeviceContext memory_context(Runtime& runtime, const Device& device) {
  return memory_pool(runtime).device_pool(device.id())->context();
}

// One search: batches of queries, and for each the rows on the device and the segments that are streamed, are assigned
// to the lanes in turn.
class ScanRun {
 public:
  using Resources = std::array<std::optional<LaneResources>, lane_count>;

  ScanRun(Runtime& runtime, const Device& device, ResidentSegments& resident, Resources& resources, BatchTuner& tuner,
          const SearchTask& task, std::span<std::vector<Hit>> hits)
      : runtime_(runtime),
        device_(device),
        resident_(resident),
        resources_(resources),
        tuner_(tuner),
        task_(task),
        hits_(hits) {}

  DeviceScanCounts run(std::span<const std::size_t> chosen, std::size_t batch_max) {
    const std::size_t queries = task_.query_count();
    const std::size_t largest = std::min(batch_max, queries);
    const std::uint64_t reserve = staging_bytes() + largest * query_bytes(task_.dim, device_capacity(task_.k));
    (void)lane(0, largest);
    places_ = resident_.get(task_.segments, chosen, resources_[0]->stream, reserve);
    counts_.streamed_segments = places_.streamed.size();
    before_ = monotonic_nanoseconds();
    for (std::size_t first = 0; first < queries;) {
      const std::size_t wanted = tuner_.size(batch_max, task_.rows_to_scan(), task_.k);
      // The device waits while the first batch is prepared.
      const bool smaller = first == 0 && wanted < queries;
      const std::size_t count =
          std::min({smaller ? std::max<std::size_t>(1, wanted / first_batch_share) : wanted, largest, queries - first});
      start(std::make_shared<QueryBatch>(task_, first, count), largest);
      first += count;
    }
    for (std::size_t i = 0; i < lane_count; ++i) finish((next_ + i) % lane_count);
    return counts_;
  }

 private:
  // A single batch of resident rows needs only the first.
  DeviceLane& lane(std::size_t index, std::size_t queries) {
    if (!lanes_[index]) {
      const DeviceContext context = memory_context(runtime_, device_);
      if (resources_[index] && !is_usable(*resources_[index], context)) resources_[index].reset();
      if (!resources_[index]) resources_[index].emplace(context);
      lanes_[index].emplace(runtime_, device_.id(), *resources_[index], task_, queries, device_capacity(task_.k),
                            fetched_columns(task_.k));
    }
    return *lanes_[index];
  }

  void start(const std::shared_ptr<QueryBatch>& batch, std::size_t queries) {
    batch->scans_left = places_.resident.size() + places_.streamed.size();
    for (const ResidentRows& rows : places_.resident) next_lane(queries).start(batch, rows);
    for (const std::size_t segment : places_.streamed) next_lane(queries).start(batch, segment);
  }

  DeviceLane& next_lane(std::size_t queries) {
    task_.options->context.check("search", runtime_.executor());
    const std::size_t index = next_;
    next_ = (next_ + 1) % lane_count;
    finish(index);
    return lane(index, queries);
  }

  void finish(std::size_t index) {
    if (!lanes_[index] || !lanes_[index]->busy()) return;
    const std::shared_ptr<QueryBatch> batch = lanes_[index]->batch();
    counts_.overflown_queries += lanes_[index]->finish();
    if (batch->scans_left > 0) return;
    compare(*batch);
    const std::uint64_t now = monotonic_nanoseconds();
    tuner_.record(batch->task.query_count(), static_cast<double>(now - before_) * 1e-9);
    before_ = now;
  }

  // Compares the candidates by their vectors.
  void compare(QueryBatch& batch) {
    std::atomic<std::uint64_t> reranked = batch.candidates.reranked();
    runtime_.executor().parallel_for(batch.task.query_count(), compare_grain, [&](std::size_t begin, std::size_t end) {
      std::uint64_t count = 0;
      for (std::size_t query = begin; query < end; ++query) {
        hits_[batch.first_query + query] = rerank(batch.task, query, std::move(batch.candidates.of(query)), count);
      }
      reranked += count;
    });
    counts_.reranked += reranked;
  }

  // Bytes that streamed segments need besides the resident ones.
  [[nodiscard]] std::uint64_t staging_bytes() const noexcept {
    std::size_t rows = 0;
    for (const SegmentView& segment : task_.segments) rows = std::max(rows, segment.rows);
    return lane_count * rows * (task_.dim * sizeof(float) + device_term_bytes);
  }

  Runtime& runtime_;
  const Device& device_;
  ResidentSegments& resident_;
  Resources& resources_;
  BatchTuner& tuner_;
  const SearchTask& task_;
  std::span<std::vector<Hit>> hits_;
  ResidentPlaces places_;
  std::array<std::optional<DeviceLane>, lane_count> lanes_;
  std::size_t next_ = 0;      // of the lanes
  std::uint64_t before_ = 0;  // when the last batch was finished
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

void DeviceScan::prepare(std::span<const SegmentView> segments, std::span<const std::size_t> chosen) {
  const std::vector<std::size_t> wanted = resident_.wanted(segments, chosen);
  if (wanted.empty()) return;
  try {
    Stream stream(memory_context(runtime_, device_));
    (void)resident_.get(segments, wanted, stream, batch_reserve());
  } catch (const Error&) {
    return;  // the search that needs the rows reports the failure
  }
}

// Bytes for a batch of queries, which searches need besides the rows.
std::uint64_t DeviceScan::batch_reserve() const {
  const auto stats = memory_pool(runtime_).get_memory_stats(device_.id());
  return stats ? stats->limit_bytes / batch_share : 0;
}

DeviceScanCounts DeviceScan::scan(const SearchTask& task, std::span<const std::size_t> chosen, BatchTuner& tuner,
                                  std::size_t batch_max, std::span<std::vector<Hit>> hits) {
  if (chosen.empty() || task.query_count() == 0 || task.k == 0) return {};
  const std::lock_guard lock(busy_);
  const auto run = [&] {
    return ScanRun(runtime_, device_, resident_, lanes_, tuner, task, hits).run(chosen, batch_max);
  };
  try {
    try {
      return run();
    } catch (const OutOfMemoryError&) {
      // Rows that stayed after a search of fewer neighbors may have the memory that this one needs.
      if (resident_.drop_unused(UINT64_MAX) == 0) throw;
    }
    return run();
  } catch (...) {
    for (auto& lane : lanes_) lane.reset();  // a stream whose work failed stays so
    rethrow_named(runtime_, device_, task);
  }
}

}  // namespace vectis::inline v0_1::exact
