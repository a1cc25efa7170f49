#include "memory/device_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/call.hpp"
#include "memory/rounding.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

std::uint64_t unit_of(const DeviceContext& context) {
  return round_up(block_unit, context.device().info().limits.memory_alignment);
}

// Threads share a counter only every so many allocations, and the time of last use only every millisecond.
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
      allocation_max_(upstream_->context().device().info().limits.allocation_bytes_max / unit_ * unit_),
      map_(unit_, DeviceMemory::can_slice(upstream_->context())) {}

DevicePool::~DevicePool() {
  blocks_.clear();
  for (auto& [id, segment] : segments_) {
    budget_->give(segment.memory.memory.bytes());
    upstream_->deallocate(std::move(segment.memory), nullptr);
  }
}

void DevicePool::validate(const MemoryRequest& request) const {
  if (request.bytes == 0) {
    throw Error(ErrorCode::invalid_input, "get_managed_buffer", "0 elements were asked for; ask for at least 1");
  }
  if (request.bytes > allocation_max_) {
    throw Error(ErrorCode::invalid_input, "get_managed_buffer",
                fmt::format("{} bytes were asked for, but one allocation on {} has at most {}; split it into parts",
                            request.bytes, describe(*context().device().core()), allocation_max_));
  }
}

PoolBlock* DevicePool::acquire(const MemoryRequest& request, const Rungs& rungs) {
  runtime_.check_fork("get_managed_buffer");
  validate(request);
  schedule_live();
  const BufferKind kind{std::min(rounded_size(request.bytes, unit_), allocation_max_), request.precision};
  std::shared_ptr<StreamOrder> order = request.stream == nullptr ? nullptr : orders_.find(*request.stream);
  CacheShard& shard = shards_[my_shard()];
  PoolBlock* block = nullptr;
  {
    const std::lock_guard lock(shard.mutex);
    block = shard.take(kind, order.get());
    if (block != nullptr) make_live(*block, request, std::move(order), true);
  }
  if (block == nullptr) {
    bool hit = true;
    block = acquire_slowly(request, kind, order.get(), rungs, &hit);
    const std::lock_guard lock(shard.mutex);
    make_live(*block, request, std::move(order), hit);
  }
  if (block->number / shard_count % count_step == 0) count_allocations();
  return block;
}

// With the lock of this thread's shard held.
void DevicePool::make_live(PoolBlock& block, const MemoryRequest& request, std::shared_ptr<StreamOrder> order,
                           bool hit) {
  const TimePoint now = runtime_.executor().now();
  block.live = true;
  block.precision = request.precision;
  block.requested = request.bytes;
  Counters& counters = counters_[my_shard()];
  block.number = ++counters.allocations * shard_count + my_shard();  // unique, and rising in each shard
  block.since = now;
  block.order = std::move(order);
  block.tag = tags_.find(request.context.memory_tag());
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
  timeline_.rose(now, in_use, bytes);
}

void DevicePool::release(PoolBlock* block) noexcept {
  CacheShard& shard = shards_[my_shard()];
  std::vector<PoolBlock*> dropped;
  {
    const std::lock_guard lock(shard.mutex);
    block->live = false;
    if (block->tag != nullptr) block->tag->remove(block->requested);
    if (recorder_ != nullptr) recorder_->released(block->number);
    if (block->order != nullptr) block->released = block->order->release();
    Counters& counters = counters_[my_shard()];
    --counters.live;
    counters.requested -= static_cast<std::int64_t>(block->requested);
    const std::uint64_t bytes = block->memory.bytes();
    const std::uint64_t in_use = in_use_.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
    if (timeline_.is_notable_fall(in_use)) timeline_.fell(runtime_.executor().now(), in_use, bytes);
    shard.put(block);
    dropped = shard.drop_underused(policy_.kinds_max);
  }
  if (!dropped.empty()) {
    const std::lock_guard lock(core_mutex_);
    for (PoolBlock* one : dropped) give_back(one);
  }
  schedule_trim();
  schedule_live();
}

// Blocks whose work is not done go to the first shard, where the next flush finds them again.
void DevicePool::give_back(PoolBlock* block) {
  if (!block->done()) {
    const std::lock_guard lock(shards_[0].mutex);
    shards_[0].put(block);
    return;
  }
  const BlockMap::BlockId id = block->id;
  blocks_.erase(id);
  map_.give(id);
}

std::uint64_t DevicePool::flush_shards(std::uint64_t bytes_min) {
  std::uint64_t bytes = 0;
  for (CacheShard& shard : shards_) {
    std::vector<PoolBlock*> done;
    {
      const std::lock_guard lock(shard.mutex);
      done = shard.drain([&](const PoolBlock& block) { return block.memory.bytes() >= bytes_min && block.done(); });
    }
    for (PoolBlock* block : done) {
      bytes += block->memory.bytes();
      give_back(block);
    }
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
  if (bytes > 0) note_held();
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
  if (before / policy_.trim_allocations != (before + count_step) / policy_.trim_allocations) sweep();
}

// Called every trim_allocations allocations: what none of them used goes back.
void DevicePool::sweep() {
  const std::lock_guard lock(core_mutex_);
  const std::uint64_t now = allocations_counted_.load(std::memory_order_relaxed);
  flush_shards();
  release_empty_segments(now > policy_.trim_allocations ? now - policy_.trim_allocations : 0);
}

void DevicePool::note_held() {
  timeline_.held(runtime_.executor().now(), map_.reserved_bytes(), in_use_.load(std::memory_order_relaxed));
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
  } catch (const Error&) {
    // A forked child has no executor, and returning a buffer there must not fail: nothing is trimmed.
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
