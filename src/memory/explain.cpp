#include "vectis/memory/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/call.hpp"
#include "memory/device_pool.hpp"
#include "memory/human.hpp"
#include "memory/snapshot_file.hpp"

namespace vectis::inline v0_1 {

std::string_view name(OutOfMemoryKind kind) noexcept {
  switch (kind) {
    case OutOfMemoryKind::full:
      return "full";
    case OutOfMemoryKind::fragmented:
      return "fragmented";
    case OutOfMemoryKind::held_in_cache:
      return "held in cache";
    case OutOfMemoryKind::over_limit:
      return "over your limit";
    case OutOfMemoryKind::held_by_others:
      return "held by others";
  }
  return "unknown";
}

namespace {

using detail::human;

std::string sentence(const OutOfMemoryReport& report) {
  return fmt::format("{} asked for on {}, out of memory: {}; {}", human(report.requested_bytes), report.device,
                     name(report.kind), report.advice);
}

}  // namespace

std::string OutOfMemoryReport::text() const {
  std::string lines =
      fmt::format("requested {} ({} bytes) on {}: {}\n", human(requested_bytes), requested_bytes, device, name(kind));
  lines +=
      fmt::format("device    {} in all, {} free\n", human(total_bytes), free_bytes ? human(*free_bytes) : "unknown");
  lines += fmt::format("this pool {} in use, {} cached, limit {}\n", human(in_use_bytes), human(cached_bytes),
                       human(limit_bytes));
  for (const ReclaimStep& step : steps)
    lines += fmt::format("tried     {}: {} freed\n", step.name, human(step.freed_bytes));
  lines += fmt::format("would fit {} ({} bytes)\n", human(largest_bytes), largest_bytes);
  lines += fmt::format("advice    {}\n", advice);
  if (!snapshot_path.empty()) lines += fmt::format("snapshot  {}\n", snapshot_path);
  return lines;
}

OutOfMemoryError::OutOfMemoryError(std::string_view op, OutOfMemoryReport report)
    : Error(ErrorCode::allocation, op, sentence(report), report.text()),
      report_(std::make_shared<const OutOfMemoryReport>(std::move(report))) {}

namespace detail {

OutOfMemoryKind classify(const OutOfMemoryReport& numbers, const CacheShape& cache, bool device_refused) {
  const std::uint64_t wanted = numbers.requested_bytes;
  const bool live_and_wanted_fit =
      wanted <= numbers.limit_bytes && numbers.in_use_bytes <= numbers.limit_bytes - wanted;
  if (!live_and_wanted_fit) return OutOfMemoryKind::over_limit;
  // From here on an empty cache would leave room under the limit.
  if (cache.longest_run >= wanted) return OutOfMemoryKind::held_in_cache;
  if (numbers.cached_bytes >= wanted) return OutOfMemoryKind::fragmented;
  if (!device_refused) {
    if (cache.pending_bytes > 0) return OutOfMemoryKind::held_in_cache;
    return numbers.cached_bytes > 0 ? OutOfMemoryKind::fragmented : OutOfMemoryKind::over_limit;
  }
  const std::uint64_t ours = numbers.in_use_bytes + numbers.cached_bytes;
  const bool alone_it_would_fit = numbers.total_bytes >= ours && numbers.total_bytes - ours >= wanted;
  return alone_it_would_fit ? OutOfMemoryKind::held_by_others : OutOfMemoryKind::full;
}

CacheShape DevicePool::cache_shape() const {
  CacheShape shape;
  std::uint64_t run = 0;
  std::optional<BlockMap::SegmentId> segment;
  visit([&](const BlockMap::Block& range, const PoolBlock*, bool cached) {
    const bool idle = range.free || cached;
    if (!idle || segment != range.segment) run = 0;
    segment = range.segment;
    if (idle) run += range.bytes;
    if (cached) shape.pending_bytes += range.bytes;
    shape.longest_run = std::max(shape.longest_run, run);
  });
  return shape;
}

std::string advise(const OutOfMemoryReport& report) {
  const std::string smaller =
      report.largest_bytes == 0
          ? "free a buffer first"
          : fmt::format("a batch {:.2g} times as large would fit",
                        static_cast<double>(report.largest_bytes) / static_cast<double>(report.requested_bytes));
  switch (report.kind) {
    case OutOfMemoryKind::over_limit:
      return fmt::format("{}, or raise the limit of {} with set_max_pool_size", smaller, human(report.limit_bytes));
    case OutOfMemoryKind::fragmented:
      return fmt::format("{}; free the small buffers between the gaps, or allocate large ones first", smaller);
    case OutOfMemoryKind::held_in_cache:
      return fmt::format("{}; synchronise the streams that released buffers, or allow a later deadline", smaller);
    case OutOfMemoryKind::held_by_others:
      return fmt::format("{}; other processes hold the rest of the device", smaller);
    case OutOfMemoryKind::full:
      break;
  }
  return fmt::format("{}; free buffers, or use a lower precision or a device with more memory", smaller);
}

namespace {

// The largest request that would succeed now: the largest piece at hand, or what the device and the limit still allow.
std::uint64_t largest_possible(const OutOfMemoryReport& report, std::uint64_t largest_free, std::uint64_t budget_left,
                               std::uint64_t allocation_max, bool device_refused) {
  std::uint64_t growth = std::min(budget_left, allocation_max);
  if (report.free_bytes) growth = std::min(growth, *report.free_bytes);
  // A device that does not tell and just refused is believed to refuse again.
  if (!report.free_bytes && device_refused) growth = 0;
  return std::max(largest_free, growth);
}

}  // namespace

OutOfMemoryError DevicePool::explain(const MemoryRequest& request, bool device_refused,
                                     std::vector<ReclaimStep> steps) const {
  const Device device = context().device();
  OutOfMemoryReport report;
  report.device = describe(*device.core());
  report.requested_bytes = request.bytes;
  report.steps = std::move(steps);
  report.total_bytes = device.info().memory_bytes;
  if (const auto state = device.memory()) report.free_bytes = state->free_bytes;
  report.limit_bytes = budget_->limit();
  std::uint64_t largest_free = 0;
  {
    const std::lock_guard lock(core_mutex_);
    report.in_use_bytes = in_use_.load(std::memory_order_relaxed);
    report.cached_bytes = map_.reserved_bytes() - std::min(map_.reserved_bytes(), report.in_use_bytes);
    largest_free = map_.largest_free();
  }
  report.kind = classify(report, cache_shape(), device_refused);
  report.largest_bytes =
      largest_possible(report, largest_free, budget_->left(), allocation_max_, device_refused) / unit_ * unit_;
  report.advice = advise(report);
  report.snapshot_path = write_snapshot(*this, policy_.snapshot_folder, report);
  return {"get_managed_buffer", std::move(report)};
}

}  // namespace detail

}  // namespace vectis::inline v0_1
