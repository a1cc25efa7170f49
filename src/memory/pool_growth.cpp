// The slow path of the pool: everything cached, then the device, then the ladder.
#include <algorithm>

#include "memory/device_pool.hpp"
#include "memory/rounding.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// Requests up to this size share segments; larger ones get their own.
constexpr std::uint64_t shared_max = std::uint64_t{4} << 20;
constexpr std::uint64_t large_min = std::uint64_t{1} << 20;
constexpr std::uint64_t segment_min = std::uint64_t{2} << 20;
constexpr std::uint64_t segment_max = std::uint64_t{64} << 20;

// A sixteenth of what is held keeps the number of segments low without overshooting.
std::uint64_t segment_size(std::uint64_t wanted, std::uint64_t reserved, std::uint64_t unit) {
  if (wanted > shared_max) return wanted;
  return std::max(wanted, round_up(std::clamp(reserved / 16, segment_min, segment_max), unit));
}

}  // namespace

PoolBlock* DevicePool::take_from_shards(const BufferKind& kind, const StreamOrder* order, Stream* stream) {
  for (CacheShard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    if (PoolBlock* block = shard.take(kind, order)) return block;
  }
  if (stream == nullptr) return nullptr;
  for (CacheShard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    if (PoolBlock* block = shard.steal(kind, *stream)) return block;
  }
  return nullptr;
}

PoolBlock* DevicePool::take_range(const BufferKind& kind) {
  const auto id = map_.take(kind.bytes);
  if (!id) return nullptr;
  const BlockMap::Block range = map_.block(*id);
  Segment& segment = segments_.at(range.segment);
  segment.last_use = allocations_counted_.load(std::memory_order_relaxed);
  try {
    const DeviceMemory& whole = segment.memory.memory;
    DeviceMemory piece = range.bytes == whole.bytes() ? whole : whole.slice(range.offset, range.bytes);
    return blocks_.emplace(*id, std::make_unique<PoolBlock>(*id, std::move(piece))).first->second.get();
  } catch (...) {
    map_.give(*id);
    throw;
  }
}

bool DevicePool::add_segment(std::uint64_t bytes) {
  if (!budget_->take(bytes)) return false;
  try {
    MemoryBlock memory = upstream_->allocate({.bytes = bytes});
    segments_.emplace(map_.add_segment(bytes), Segment{std::move(memory), 0});
  } catch (...) {
    budget_->give(bytes);
    throw;
  }
  ++device_allocations_;
  peak_reserved_ = std::max(peak_reserved_, map_.reserved_bytes());
  note_held();
  return true;
}

// Null when limit or device refuse. A device that fails in another way is an error of its own.
PoolBlock* DevicePool::grow_and_take(const BufferKind& kind, std::uint64_t exact, bool* device_refused) {
  const std::uint64_t wanted = std::min(segment_size(kind.bytes, map_.reserved_bytes(), unit_), allocation_max_);
  // Rather than reach a new peak, exchange: empty segments are too small for this request, or it would be in one.
  if (map_.reserved_bytes() + wanted > peak_reserved_) release_empty_segments(UINT64_MAX);
  for (const std::uint64_t bytes : {wanted, kind.bytes, exact}) {
    try {
      if (add_segment(bytes)) return take_range({std::min(bytes, kind.bytes), kind.precision});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::allocation) throw;
      *device_refused = true;
    }
  }
  return nullptr;
}

// Waits for the streams of cached blocks, within the deadline of the call; returns the bytes that came free.
std::uint64_t DevicePool::wait_for_streams(const Context& context) {
  std::uint64_t bytes = 0;
  for (CacheShard& shard : shards_) {
    std::vector<PoolBlock*> waiting;
    {
      const std::lock_guard lock(shard.mutex);
      waiting = shard.drain([](const PoolBlock& block) { return block.order != nullptr; });
    }
    for (PoolBlock* block : waiting) {
      const bool in_time = !context.expired(runtime_.executor());
      if (in_time && block->order->wait(block->released)) bytes += block->memory.bytes();
      const std::lock_guard lock(core_mutex_);
      give_back(block);
    }
  }
  return bytes;
}

PoolBlock* DevicePool::acquire_slowly(const MemoryRequest& request, const BufferKind& kind, const StreamOrder* order,
                                      const Rungs& rungs, bool* hit) {
  bool device_refused = false;
  std::vector<ReclaimStep> steps;
  const std::uint64_t exact = round_up(request.bytes, unit_);  // where rounding generously would be too much
  const auto grow = [&] {
    PoolBlock* block = grow_and_take(kind, exact, &device_refused);
    *hit = block == nullptr;
    return block;
  };
  {
    const std::lock_guard lock(core_mutex_);
    if (PoolBlock* block = take_from_shards(kind, order, request.stream)) return block;
    // Large requests choose among everything: what is cached in pieces would make them cut a range they need not.
    if (kind.bytes >= large_min) flush_shards(large_min);
    if (PoolBlock* block = take_range(kind)) return block;
    steps.push_back({"merging the cache", flush_shards()});
    if (PoolBlock* block = take_range(kind)) return block;
    if (PoolBlock* block = grow()) return block;
  }
  const auto again = [&]() -> PoolBlock* {
    const std::lock_guard lock(core_mutex_);
    if (PoolBlock* block = take_range(kind)) return block;
    return grow();
  };
  steps.push_back({"waiting for streams", wait_for_streams(request.context)});
  if (PoolBlock* block = again()) return block;
  steps.push_back({"giving back empty segments", cleanup()});
  if (PoolBlock* block = again()) return block;
  for (const Rung& rung : rungs()) {
    steps.push_back({rung.name, rung.reclaim(kind.bytes)});
    cleanup();
    if (PoolBlock* block = again()) return block;
  }
  {
    const std::lock_guard lock(core_mutex_);
    ++failures_;
  }
  throw explain(request, device_refused, std::move(steps));
}

}  // namespace vectis::inline v0_1::detail
