// The automatic response of a pool to memory pressure, and its report of buffers that were never released.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "memory/device_pool.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint64_t recent_allocations = 1024;         // trim() keeps the segments that they used
constexpr Duration relief_idle = std::chrono::seconds(1);  // idle time after which a pool under pressure acts
constexpr std::size_t reported_buffers_max = 8;            // in a leak report

}  // namespace

void DevicePool::set_thresholds(double warn, double clean) noexcept {
  warn_.store(warn, std::memory_order_relaxed);
  clean_.store(clean, std::memory_order_relaxed);
}

std::uint64_t DevicePool::trim() {
  const std::lock_guard lock(core_mutex_);
  const std::uint64_t now = allocations_counted_.load(std::memory_order_relaxed);
  flush_shards();
  return release_empty_segments(now > recent_allocations ? now - recent_allocations : 0);
}

int DevicePool::level_of(double pressure) const noexcept {
  if (pressure > clean_.load(std::memory_order_relaxed)) return 2;
  return pressure > warn_.load(std::memory_order_relaxed) ? 1 : 0;
}

void DevicePool::relieve_pressure() {
  const double held = pressure();
  const int level = level_of(held);
  const int before = pressure_level_.exchange(level, std::memory_order_relaxed);
  if (level == 0) return;
  const bool critical = level == 2;
  const std::uint64_t freed = critical ? cleanup() : trim();
  pressure_level_.store(level_of(pressure()), std::memory_order_relaxed);
  if (level <= before) return;  // logged when the pressure rose
  runtime_.logger().log(
      critical ? LogLevel::error : LogLevel::warning, "memory",
      fmt::format("device {}: the pool holds {:.1f} % of its limit of {} bytes; {}, {} bytes returned "
                  "to the device",
                  context().device().id(), held * 100, budget_->limit(), critical ? "cleaned up" : "trimmed", freed));
}

void DevicePool::schedule_relief() noexcept {
  if (relief_scheduled_.load(std::memory_order_relaxed) ||
      relief_scheduled_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  try {
    runtime_.executor().post_after(relief_idle, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->relieve_if_idle();
    });
  } catch (const std::exception&) {  // a forked child has no executor, or the host is out of memory
    relief_scheduled_.store(false, std::memory_order_relaxed);
  }
}

void DevicePool::relieve_if_idle() {
  relief_scheduled_.store(false, std::memory_order_relaxed);
  const Duration idle = runtime_.executor().now() - TimePoint{Duration{last_use_.load(std::memory_order_relaxed)}};
  if (idle < relief_idle) return schedule_relief();  // in use: its cache is needed, and growth is answered at once
  relieve_pressure();
}

std::string DevicePool::leak_report() const {
  struct LiveBuffer {
    std::uint64_t bytes;
    const TagCounters* tag;
  };
  std::vector<LiveBuffer> live;
  std::uint64_t sum = 0;
  visit([&](const BlockMap::Block& /*range*/, const PoolBlock* block, bool /*cached*/) {
    if (block == nullptr || !block->live) return;
    live.push_back({block->requested, block->tag});
    sum += block->requested;
  });
  if (live.empty()) return {};
  std::ranges::sort(live, std::ranges::greater{}, &LiveBuffer::bytes);
  const auto names = tags_.names();
  std::string text =
      fmt::format("device {}: {} buffers of {} bytes were not released:", context().device().id(), live.size(), sum);
  for (const LiveBuffer& one : std::span(live).first(std::min(live.size(), reported_buffers_max))) {
    text += fmt::format(" {} bytes{},", one.bytes, one.tag == nullptr ? "" : " (" + names.at(one.tag) + ")");
  }
  text.pop_back();
  if (live.size() > reported_buffers_max) text += fmt::format(", and {} smaller", live.size() - reported_buffers_max);
  return text;
}

void DevicePool::free_now(PoolBlock* block) noexcept {
  std::optional<MemoryBlock> freed;
  {
    const std::lock_guard lock(core_mutex_);
    const BlockMap::BlockId id = block->id;
    const BlockMap::SegmentId segment = map_.block(id).segment;
    blocks_.erase(id);
    map_.give(id);
    if (!map_.is_empty(segment)) return;
    map_.remove_segment(segment);
    const auto found = segments_.find(segment);
    freed = std::move(found->second.memory);
    segments_.erase(found);
    ++device_frees_;
    record_reserved();
  }
  // Without the lock: the device waits for the work on the memory.
  const std::uint64_t bytes = freed->memory.bytes();
  upstream_->deallocate(*std::move(freed), nullptr);
  budget_->give(bytes);
}

}  // namespace vectis::inline v0_1::detail
