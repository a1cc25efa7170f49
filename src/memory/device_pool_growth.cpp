// The slow path of the pool: everything cached, then the device, then the reclaim order.
#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "memory/device_pool.hpp"
#include "memory/size_class.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;
constexpr std::uint64_t max_shared = 4 * mib;  // requests up to this size share segments; larger ones get their own
constexpr std::uint64_t min_large = 1 * mib;   // requests from this size on search coalesced ranges first
constexpr std::uint64_t min_segment = 2 * mib;
constexpr std::uint64_t max_segment = 64 * mib;

// 1/16 of the reserved bytes: few segments, and little reserved in excess.
std::uint64_t segment_size(std::uint64_t wanted, std::uint64_t reserved, std::uint64_t unit) {
  if (wanted > max_shared) return wanted;
  return std::max(wanted, round_up(std::clamp(reserved / 16, min_segment, max_segment), unit));
}

}  // namespace

struct DevicePool::Growth {
  bool device_refused = false;
  std::uint64_t exchanged_bytes = 0;  // of empty segments returned to the device to make room
};

PoolBlock* DevicePool::take_from_shards(const SizeClass& size_class, const StreamOrder* order, Stream* stream) {
  for (CacheShard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    if (PoolBlock* block = shard.take(size_class, order)) return block;
  }
  if (stream == nullptr) return nullptr;
  for (CacheShard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    if (PoolBlock* block = shard.steal(size_class, *stream)) return block;
  }
  return nullptr;
}

PoolBlock* DevicePool::take_range(const SizeClass& size_class) {
  const auto id = map_.take(size_class.bytes);
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
    const BlockMap::SegmentId id = map_.add_segment(bytes);
    try {
      segments_.emplace(id, Segment{std::move(memory), 0});
    } catch (...) {
      map_.remove_segment(id);
      throw;
    }
  } catch (...) {
    budget_->give(bytes);
    throw;
  }
  ++device_allocations_;
  peak_reserved_ = std::max(peak_reserved_, map_.reserved_bytes());
  record_reserved();
  return true;
}

// Null when the limit or the device refuses. Any other failure of the device throws.
PoolBlock* DevicePool::grow_and_take(const SizeClass& size_class, std::uint64_t exact, Growth* growth) {
  const std::uint64_t wanted =
      policy_.caching ? std::min(segment_size(size_class.bytes, map_.reserved_bytes(), unit_), allocation_max_) : exact;
  // Before raising the high-water mark, return empty segments: all are too small, or this request would be in one.
  if (map_.reserved_bytes() + wanted > peak_reserved_) growth->exchanged_bytes += release_empty_segments(UINT64_MAX);
  for (const std::uint64_t bytes : {wanted, size_class.bytes, exact}) {
    try {
      if (add_segment(bytes)) return take_range({std::min(bytes, size_class.bytes), size_class.precision});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::allocation) throw;
      growth->device_refused = true;
    }
  }
  return nullptr;
}

std::uint64_t DevicePool::wait_for_streams(const Context& context) {
  // The blocks stay in the shards meanwhile: another thread that runs out of memory must find them and wait, too.
  std::unordered_map<std::shared_ptr<StreamOrder>, std::uint64_t> last_releases;
  {
    const std::lock_guard core(core_mutex_);  // no block is between a shard and the map
    for (CacheShard& shard : shards_) {
      const std::lock_guard lock(shard.mutex);
      shard.visit([&](const PoolBlock& block) {
        if (block.order == nullptr) return;
        std::uint64_t& last = last_releases[block.order];
        last = std::max(last, block.released);
      });
    }
  }
  for (const auto& [order, number] : last_releases) order->wait(number, context, runtime_.executor());
  const std::lock_guard lock(core_mutex_);
  return flush_shards();
}

PoolBlock* DevicePool::acquire_slow(const MemoryRequest& request, const SizeClass& size_class, const StreamOrder* order,
                                    const ReclaimOrder& reclaim_order, bool* hit) {
  Growth growth;
  std::vector<ReclaimStep> steps;
  const std::uint64_t exact = round_up(request.bytes, unit_);  // tried when the size class is too large
  const auto grow = [&] {
    PoolBlock* block = grow_and_take(size_class, exact, &growth);
    *hit = block == nullptr;
    return block;
  };
  {
    const std::lock_guard lock(core_mutex_);
    if (PoolBlock* block = take_from_shards(size_class, order, request.stream)) return block;
    // Large requests choose among coalesced ranges: otherwise they would split a range while cached neighbors suffice.
    const std::uint64_t large_coalesced = size_class.bytes >= min_large ? flush_shards(min_large) : 0;
    if (PoolBlock* block = take_range(size_class)) return block;
    steps.push_back({"coalescing the cache", large_coalesced + flush_shards()});
    if (PoolBlock* block = take_range(size_class)) return block;
    if (PoolBlock* block = grow()) return block;
  }
  const auto retry = [&]() -> PoolBlock* {
    const std::lock_guard lock(core_mutex_);
    if (PoolBlock* block = take_range(size_class)) return block;
    return grow();
  };
  const auto check_cancelled = [&] {
    if (request.context.cancelled()) request.context.check("get_managed_buffer", runtime_.executor());
  };
  steps.push_back({"waiting for streams", wait_for_streams(request.context)});
  check_cancelled();
  if (PoolBlock* block = retry()) return block;
  const std::uint64_t cleaned = cleanup();
  steps.push_back({"returning empty segments", cleaned + std::exchange(growth.exchanged_bytes, 0)});
  if (PoolBlock* block = retry()) return block;
  for (const ReclaimAction& action : reclaim_order()) {
    check_cancelled();
    const std::uint64_t reported = action.reclaim(size_class.bytes);
    wait_for_streams(request.context);  // which may still use what the reclaimer released
    // Buffers that the reclaimer released are in the cache: count them even where it reports less.
    steps.push_back({action.name, std::max(reported, cleanup())});
    if (PoolBlock* block = retry()) return block;
  }
  {
    const std::lock_guard lock(core_mutex_);
    ++failures_;
  }
  throw explain(request, growth.device_refused, std::move(steps));
}

}  // namespace vectis::inline v0_1::detail
