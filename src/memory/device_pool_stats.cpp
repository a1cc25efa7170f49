#include <algorithm>

#include "memory/device_pool.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Locks all shards, in order. Writers of a block hold one of these locks.
class AllShards {
 public:
  explicit AllShards(CacheShards& shards) : shards_(shards) {
    for (CacheShard& shard : shards_) shard.mutex.lock();
  }
  AllShards(const AllShards&) = delete;
  AllShards& operator=(const AllShards&) = delete;
  ~AllShards() {
    for (CacheShard& shard : shards_) shard.mutex.unlock();
  }

 private:
  CacheShards& shards_;
};

}  // namespace

MemoryStats DevicePool::stats() const {
  const std::lock_guard core(core_mutex_);
  const AllShards all(shards_);
  return stats_locked();
}

MemoryStats DevicePool::stats_locked() const {
  MemoryStats stats;
  const CacheLayout layout = layout_locked();
  std::uint64_t shard_bytes = 0;
  std::int64_t live = 0;
  std::int64_t requested = 0;
  for (std::size_t i = 0; i < shard_count; ++i) {
    shard_bytes += shards_[i].bytes();
    stats.allocations += counters_[i].allocations;
    stats.hits += counters_[i].hits;
    live += counters_[i].live;
    requested += counters_[i].requested;
  }
  stats.total_bytes = context().device().info().memory_bytes;
  stats.limit_bytes = budget_->limit();
  stats.reserved_bytes = map_.reserved_bytes();
  stats.cached_bytes = map_.free_bytes() + shard_bytes + layout.taken_bytes;
  stats.in_use_bytes = stats.reserved_bytes - stats.cached_bytes;
  stats.requested_bytes = static_cast<std::uint64_t>(requested);
  stats.peak_reserved_bytes = peak_reserved_;
  // A request that runs meanwhile counts its bytes first and raises the peak then.
  stats.peak_in_use_bytes = std::max(peak_in_use_.load(std::memory_order_relaxed), stats.in_use_bytes);
  stats.largest_free_bytes = layout.longest_run;
  if (stats.cached_bytes > 0) {
    stats.fragmentation = 1.0 - static_cast<double>(stats.largest_free_bytes) / static_cast<double>(stats.cached_bytes);
  }
  stats.segments = segments_.size();
  stats.live_buffers = static_cast<std::uint64_t>(live);
  stats.device_allocations = device_allocations_;
  stats.device_frees = device_frees_;
  stats.cleanups = cleanups_;
  stats.failures = failures_;
  stats.tags = tags_.usage();
  return stats;
}

void DevicePool::set_recorder(std::shared_ptr<AllocationRecorder> recorder) {
  const AllShards all(shards_);
  recorder_.swap(recorder);
}

MemoryUsage DevicePool::usage() const {
  const std::lock_guard core(core_mutex_);
  return {map_.reserved_bytes(), peak_reserved_};
}

double DevicePool::pressure() const {
  const std::uint64_t limit = budget_->limit();
  const std::uint64_t held = usage().allocated_bytes;
  if (held >= limit) return held == 0 ? 0.0 : 1.0;
  return static_cast<double>(held) / static_cast<double>(limit);
}

MemoryStats DevicePool::visit(const BlockVisitor& visitor) const {
  const std::lock_guard core(core_mutex_);
  const AllShards all(shards_);
  visit_locked(visitor);
  return stats_locked();
}

CacheLayout DevicePool::cache_layout() const {
  const std::lock_guard core(core_mutex_);
  const AllShards all(shards_);
  return layout_locked();
}

CacheLayout DevicePool::layout_locked() const {
  CacheLayout layout;
  std::uint64_t run = 0;
  std::optional<BlockMap::SegmentId> segment;
  visit_locked([&](const BlockMap::Block& range, const PoolBlock* block, bool cached) {
    if (block != nullptr && !cached && !block->live) layout.taken_bytes += range.bytes;
    const bool unused = range.free || cached;
    if (!unused || segment != range.segment) run = 0;
    segment = range.segment;
    if (unused) run += range.bytes;
    if (cached) layout.cached_bytes += range.bytes;
    layout.longest_run = std::max(layout.longest_run, run);
  });
  return layout;
}

void DevicePool::visit_locked(const BlockVisitor& visitor) const {
  map_.visit([&](BlockMap::BlockId id, const BlockMap::Block& range) {
    const auto found = blocks_.find(id);
    const PoolBlock* block = found == blocks_.end() ? nullptr : found->second.get();
    visitor(range, block, block != nullptr && block->cached);
  });
}

}  // namespace vectis::inline v0_1::detail
