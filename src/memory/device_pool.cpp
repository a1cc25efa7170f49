#include "memory/device_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "device/call.hpp"
#include "memory/size_class.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Granularity of blocks: a multiple of the device's alignment.
std::uint64_t unit_of(const DeviceContext& context) {
  return round_up(block_unit, context.device().info().limits.memory_alignment);
}

// Rounding up to a size class must not wrap; some drivers state 2^64 - 1.
std::uint64_t allocation_max_of(const DeviceContext& context) {
  constexpr std::uint64_t largest_class = std::uint64_t{1} << 62;
  const std::uint64_t unit = unit_of(context);
  return std::min(context.device().info().limits.allocation_bytes_max, largest_class) / unit * unit;
}

// Threads update the shared counter once per 64 allocations and the time of last use once per millisecond.
constexpr std::uint64_t count_step = 64;
constexpr Duration use_step = std::chrono::milliseconds(1);

}  // namespace

DevicePool::DevicePool(Runtime& runtime, std::unique_ptr<MemoryResource> upstream, std::shared_ptr<Budget> budget,
                       PoolPolicy policy)
    : runtime_(runtime),
      upstream_(std::move(upstream)),
      budget_(std::move(budget)),
      policy_(std::move(policy)),
      unit_(unit_of(upstream_->context())),
      allocation_max_(allocation_max_of(upstream_->context())),
      map_(unit_, DeviceMemory::can_slice(upstream_->context())) {}

std::uint64_t DevicePool::block_bytes(std::uint64_t bytes) const noexcept {
  return policy_.caching ? class_bytes(bytes, unit_) : round_up(bytes, unit_);
}

DevicePool::~DevicePool() {
  if (forked()) return;
  blocks_.clear();
  for (auto& [id, segment] : segments_) {
    budget_->give(segment.memory.memory.bytes());
    upstream_->deallocate(std::move(segment.memory), nullptr);
  }
}

void DevicePool::validate(const MemoryRequest& request) const {
  if (request.bytes == 0) {
    throw Error(ErrorCode::invalid_input, "get_managed_buffer", "0 bytes requested; request at least 1");
  }
  if (request.bytes > allocation_max_) {
    throw Error(ErrorCode::invalid_input, "get_managed_buffer",
                fmt::format("{} bytes requested, but the largest allocation on {} is {}; split the buffer",
                            request.bytes, describe(*context().device().core()), allocation_max_));
  }
  if (request.precision < Precision::fp32 || request.precision > Precision::int8) {
    throw Error(ErrorCode::invalid_input, "get_managed_buffer",
                fmt::format("{} is no precision; pass an enumerator of Precision, such as Precision::fp32",
                            static_cast<int>(request.precision)));
  }
}

PoolBlock* DevicePool::acquire(const MemoryRequest& request, const ReclaimOrder& reclaim_order) {
  runtime_.check_fork("get_managed_buffer");
  validate(request);
  schedule_live_snapshot();
  const SizeClass size_class{std::min(class_bytes(request.bytes, unit_), allocation_max_), request.precision};
  std::shared_ptr<StreamOrder> order = request.stream == nullptr ? nullptr : orders_.find(*request.stream);
  TagCounters* const tag = tags_.find(request.context.memory_tag());  // may throw, so before a block is taken
  CacheShard& shard = shards_[shard_of_thread()];
  PoolBlock* block = nullptr;
  {
    const std::lock_guard lock(shard.mutex);
    block = shard.take(size_class, order.get());
    if (block != nullptr) make_live(*block, request, std::move(order), tag, true);
  }
  bool hit = true;
  if (block == nullptr) {
    block = acquire_slow(request, size_class, order.get(), reclaim_order, &hit);
    const std::lock_guard lock(shard.mutex);
    make_live(*block, request, std::move(order), tag, hit);
  }
  maintain(*block, !hit);
  return block;
}

void DevicePool::maintain(const PoolBlock& allocated, bool grown) noexcept {
  try {
    if (grown) relieve_pressure();
    if (allocated.number / shard_count % count_step == 0) count_allocations();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): out of host memory; the next call tries again
  }
}

// Precondition: the lock of this thread's shard is held.
void DevicePool::make_live(PoolBlock& block, const MemoryRequest& request, std::shared_ptr<StreamOrder> order,
                           TagCounters* tag, bool hit) noexcept {
  const TimePoint now = runtime_.executor().now();
  block.live = true;
  block.precision = request.precision;
  block.requested = request.bytes;
  Counters& counters = counters_[shard_of_thread()];
  block.number = ++counters.allocations * shard_count + shard_of_thread();  // unique; increases within a shard
  block.last_use = allocations_counted_.load(std::memory_order_relaxed);
  block.since = now;
  block.order = std::move(order);
  block.tag = tag;
  if (block.tag != nullptr) block.tag->add(request.bytes);
  if (recorder_ != nullptr) recorder_->allocated(block.number, request);
  counters.hits += hit ? 1 : 0;
  ++counters.live;
  counters.requested += static_cast<std::int64_t>(request.bytes);
  const Duration::rep since = now.time_since_epoch().count();
  if (since - last_use_.load(std::memory_order_relaxed) >= use_step.count()) {
    last_use_.store(since, std::memory_order_relaxed);
  }
  const std::uint64_t bytes = block.memory.bytes();
  const std::uint64_t in_use = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  raise_to(peak_in_use_, in_use);
  timeline_.record_rise(now, in_use, bytes);
}

void DevicePool::release(PoolBlock* block) noexcept {
  if (forked()) return;
  CacheShard& shard = shards_[shard_of_thread()];
  bool has_many_classes = false;
  // Calls the device, so before the lock.
  const std::uint64_t released = block->order == nullptr ? 0 : block->order->release();
  {
    const std::lock_guard lock(shard.mutex);
    block->live = false;
    block->released = released;
    if (block->tag != nullptr) block->tag->remove(block->requested);
    if (recorder_ != nullptr) recorder_->released(block->number);
    Counters& counters = counters_[shard_of_thread()];
    --counters.live;
    counters.requested -= static_cast<std::int64_t>(block->requested);
    const std::uint64_t bytes = block->memory.bytes();
    const std::uint64_t in_use = in_use_.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
    if (timeline_.is_notable_drop(in_use)) timeline_.record_drop(runtime_.executor().now(), in_use, bytes);
    if (policy_.caching) {
      shard.put(block);
      has_many_classes = shard.size_classes() > policy_.max_size_classes;
    }
  }
  if (!policy_.caching) free_now(block);
  if (has_many_classes) flush_underused(shard);
  schedule_trim();
  if (pressure_level_.load(std::memory_order_relaxed) > 0) schedule_relief();
  schedule_live_snapshot();
}

// Under the core lock from the start: a thread that is out of memory must find each block in a shard or in the map.
void DevicePool::flush_underused(CacheShard& shard) noexcept {
  const std::lock_guard core(core_mutex_);
  PoolBlock* dropped = nullptr;
  try {
    const std::lock_guard lock(shard.mutex);
    dropped = shard.drop_underused(policy_.max_size_classes);
  } catch (const std::bad_alloc&) {
    return;
  }
  return_to_map(dropped);
}

// A block that a stream may still use goes to the first shard instead, where the next flush finds it.
std::uint64_t DevicePool::return_to_map(PoolBlock* chain) noexcept {
  std::uint64_t bytes = 0;
  while (chain != nullptr) {
    PoolBlock* const block = std::exchange(chain, chain->next);
    bytes += block->memory.bytes();
    if (!block->is_idle()) {
      const std::lock_guard lock(shards_[0].mutex);
      shards_[0].put(block);
      continue;
    }
    const BlockMap::BlockId id = block->id;
    std::uint64_t& last_use = segments_.find(map_.block(id).segment)->second.last_use;
    last_use = std::max(last_use, block->last_use);
    blocks_.erase(id);
    map_.give(id);
  }
  return bytes;
}

std::uint64_t DevicePool::flush_shards(std::uint64_t min_bytes) noexcept {
  std::uint64_t bytes = 0;
  for (CacheShard& shard : shards_) {
    PoolBlock* idle = nullptr;
    {
      const std::lock_guard lock(shard.mutex);
      idle = shard.drain([&](const PoolBlock& block) { return block.memory.bytes() >= min_bytes && block.is_idle(); });
    }
    bytes += return_to_map(idle);
  }
  return bytes;
}

std::uint64_t DevicePool::release_empty_segments(std::uint64_t unused_since) {
  std::uint64_t bytes = 0;
  for (const BlockMap::SegmentId id : map_.empty_segments()) {
    const auto segment = segments_.find(id);
    if (segment->second.last_use > unused_since) continue;
    bytes += map_.segment_bytes(id);
    map_.remove_segment(id);
    budget_->give(segment->second.memory.memory.bytes());
    upstream_->deallocate(std::move(segment->second.memory), nullptr);
    segments_.erase(segment);
    ++device_frees_;
  }
  if (bytes > 0) record_reserved();
  return bytes;
}

std::uint64_t DevicePool::cleanup() {
  const std::lock_guard lock(core_mutex_);
  ++cleanups_;
  flush_shards();
  return release_empty_segments(UINT64_MAX);
}

void DevicePool::count_allocations() {
  const std::uint64_t before = allocations_counted_.fetch_add(count_step, std::memory_order_relaxed);
  if (before / policy_.trim_allocations != (before + count_step) / policy_.trim_allocations) trim_unused();
}

// Runs every trim_allocations allocations; returns the segments that none of them used to the device.
void DevicePool::trim_unused() {
  const std::lock_guard lock(core_mutex_);
  const std::uint64_t now = allocations_counted_.load(std::memory_order_relaxed);
  flush_shards();
  release_empty_segments(now > policy_.trim_allocations ? now - policy_.trim_allocations : 0);
}

void DevicePool::record_reserved() {
  timeline_.record_reserved(runtime_.executor().now(), map_.reserved_bytes(), in_use_.load(std::memory_order_relaxed));
}

void DevicePool::schedule_trim() noexcept {
  if (policy_.trim_after <= Duration::zero() || trim_scheduled_.load(std::memory_order_relaxed) ||
      trim_scheduled_.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  try {
    runtime_.executor().post_after(policy_.trim_after, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->trim_if_idle();
    });
  } catch (const std::exception&) {
    // A forked child has no executor, or the host is out of memory; releasing a buffer must not fail, so that nothing
    // is trimmed.
    trim_scheduled_.store(false, std::memory_order_relaxed);
  }
}

void DevicePool::trim_if_idle() {
  trim_scheduled_.store(false, std::memory_order_relaxed);
  const Duration idle = runtime_.executor().now() - TimePoint{Duration{last_use_.load(std::memory_order_relaxed)}};
  if (idle >= policy_.trim_after) cleanup();
  if (stats().cached_bytes > 0 || idle < policy_.trim_after) schedule_trim();
}

}  // namespace vectis::inline v0_1::detail
