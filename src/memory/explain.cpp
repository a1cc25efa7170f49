#include "vectis/memory/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/call.hpp"
#include "memory/device_pool.hpp"
#include "memory/snapshot_file.hpp"
#include "vectis/base/format.hpp"

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

std::string tagged(const OutOfMemoryReport& report) {
  return report.tag.empty() ? "" : fmt::format(" for '{}'", report.tag);
}

std::string sentence(const OutOfMemoryReport& report) {
  return fmt::format("{} requested{} on {}, out of memory: {}; {}", format_bytes(report.requested_bytes),
                     tagged(report), report.device, name(report.kind), report.advice);
}

}  // namespace

std::string OutOfMemoryReport::text() const {
  std::string lines = fmt::format("requested {} ({} bytes){} on {}: {}\n", format_bytes(requested_bytes),
                                  requested_bytes, tagged(*this), device, name(kind));
  lines += fmt::format("device    {} total, {} free\n", format_bytes(total_bytes),
                       free_bytes ? format_bytes(*free_bytes) : "unknown");
  lines += fmt::format("this pool {} in use, {} cached, limit {}\n", format_bytes(in_use_bytes),
                       format_bytes(cached_bytes), format_bytes(limit_bytes));
  for (const ReclaimStep& step : steps)
    lines += fmt::format("tried     {}: {} freed\n", step.name, format_bytes(step.freed_bytes));
  lines += fmt::format("would fit {} ({} bytes)\n", format_bytes(largest_bytes), largest_bytes);
  lines += fmt::format("advice    {}\n", advice);
  if (!snapshot_path.empty()) lines += fmt::format("snapshot  {}\n", snapshot_path);
  return lines;
}

OutOfMemoryError::OutOfMemoryError(std::string_view op, OutOfMemoryReport report)
    : Error(ErrorCode::allocation, op, sentence(report), report.text()),
      report_(std::make_shared<const OutOfMemoryReport>(std::move(report))) {}

namespace detail {

OutOfMemoryKind classify(const OutOfMemoryReport& report, const CacheLayout& cache, bool device_refused) {
  const std::uint64_t wanted = report.requested_bytes;
  const bool live_and_wanted_fit = wanted <= report.limit_bytes && report.in_use_bytes <= report.limit_bytes - wanted;
  if (!live_and_wanted_fit) return OutOfMemoryKind::over_limit;
  // From here on the request would fit under the limit if the cache were empty.
  if (cache.longest_run >= wanted) return OutOfMemoryKind::held_in_cache;
  if (report.cached_bytes >= wanted) return OutOfMemoryKind::fragmented;
  if (!device_refused) {
    if (cache.cached_bytes > 0) return OutOfMemoryKind::held_in_cache;
    return report.cached_bytes > 0 ? OutOfMemoryKind::fragmented : OutOfMemoryKind::over_limit;
  }
  const std::uint64_t ours = report.in_use_bytes + report.cached_bytes;
  const bool fits_without_other_processes = report.total_bytes >= ours && report.total_bytes - ours >= wanted;
  return fits_without_other_processes ? OutOfMemoryKind::held_by_others : OutOfMemoryKind::full;
}

std::string advise(const OutOfMemoryReport& report) {
  const std::string smaller =
      report.largest_bytes == 0
          ? "free a buffer first"
          : fmt::format("a batch of {:.2g} times this size would fit",
                        static_cast<double>(report.largest_bytes) / static_cast<double>(report.requested_bytes));
  switch (report.kind) {
    case OutOfMemoryKind::over_limit:
      return fmt::format("{}, or raise the limit of {} with set_max_pool_size", smaller,
                         format_bytes(report.limit_bytes));
    case OutOfMemoryKind::fragmented:
      return fmt::format("{}; free the small buffers between the gaps, or allocate large ones first", smaller);
    case OutOfMemoryKind::held_in_cache:
      return fmt::format("{}; synchronize the streams that released buffers, or allow a later deadline", smaller);
    case OutOfMemoryKind::held_by_others:
      return fmt::format("{}; other processes hold the rest of the device's memory", smaller);
    case OutOfMemoryKind::full:
      break;
  }
  return fmt::format("{}; free buffers, or use a lower precision or a device with more memory", smaller);
}

std::string describe_failure(const OutOfMemoryReport& report) {
  const std::string failed =
      fmt::format("{} could not be allocated{}", format_bytes(report.requested_bytes), tagged(report));
  switch (report.kind) {
    case OutOfMemoryKind::over_limit:
      return fmt::format("{}: together with live buffers that exceeds the pool's limit of {}.", failed,
                         format_bytes(report.limit_bytes));
    case OutOfMemoryKind::fragmented:
      return fmt::format("{}: {} are cached, but no contiguous range is large enough.", failed,
                         format_bytes(report.cached_bytes));
    case OutOfMemoryKind::held_in_cache:
      return fmt::format("{}: {} are cached, but streams may still use them.", failed,
                         format_bytes(report.cached_bytes));
    case OutOfMemoryKind::held_by_others:
      return fmt::format("{}: other processes hold the rest of the device's memory.", failed);
    case OutOfMemoryKind::full:
      break;
  }
  return fmt::format("{}: live buffers fill the device.", failed);
}

namespace {

// The largest request that would succeed now: the largest free range, or what the device and the limit still allow.
std::uint64_t largest_possible(const OutOfMemoryReport& report, std::uint64_t largest_free, std::uint64_t budget_left,
                               std::uint64_t allocation_max, bool device_refused) {
  std::uint64_t growth = std::min(budget_left, allocation_max);
  if (report.free_bytes) growth = std::min(growth, *report.free_bytes);
  // A device that refused and does not report free memory is assumed to refuse again.
  if (!report.free_bytes && device_refused) growth = 0;
  return std::max(largest_free, growth);
}

}  // namespace

OutOfMemoryError DevicePool::explain(const MemoryRequest& request, bool device_refused,
                                     std::vector<ReclaimStep> steps) const {
  const Device device = context().device();
  OutOfMemoryReport report;
  report.device = describe(*device.core());
  report.tag = request.context.memory_tag();
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
  report.kind = classify(report, cache_layout(), device_refused);
  report.largest_bytes =
      largest_possible(report, largest_free, budget_->left(), allocation_max_, device_refused) / unit_ * unit_;
  report.advice = advise(report);
  report.snapshot_path = write_snapshot(*this, policy_.snapshot_folder, report);
  return {"get_managed_buffer", std::move(report)};
}

}  // namespace detail

}  // namespace vectis::inline v0_1
