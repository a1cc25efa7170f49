// One block of a pool: a range of a segment and the memory handle for it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "memory/block_map.hpp"
#include "memory/size_class.hpp"
#include "memory/stream_order.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/context.hpp"

namespace vectis::inline v0_1::detail {

class TagCounters;

// One block of a DevicePool, live or cached: a range of a segment with its memory handle. The pool owns it; the
// fields below `memory` are written with the lock of one shard held and read with the locks of all shards held.
struct PoolBlock {
  PoolBlock(BlockMap::BlockId block_id, DeviceMemory range) : id(block_id), memory(std::move(range)) {}

  const BlockMap::BlockId id;
  const DeviceMemory memory;  // kept for the block's lifetime, so that reuse creates no handle

  bool live = false;
  bool cached = false;  // in a shard; neither live nor cached: on its way from the cache or the device to a request
  Precision precision = Precision::fp32;
  std::uint64_t requested = 0;  // bytes, before rounding
  std::uint64_t number = 0;     // of the allocation; unique in the pool
  std::uint64_t last_use = 0;   // allocations counted in the pool at that time
  TimePoint since{};            // of the allocation
  TagCounters* tag = nullptr;
  std::shared_ptr<StreamOrder> order;  // of the stream that uses the block; null: idle when released
  std::uint64_t released = 0;          // number of its release in that order
  PoolBlock* next = nullptr;           // in a chain of blocks, which needs no memory

  [[nodiscard]] SizeClass size_class() const noexcept { return {memory.bytes(), precision}; }
  // Returns whether all work on the block has finished, so that any stream or the host may use it. The block must be
  // released.
  [[nodiscard]] bool is_idle() const noexcept { return order == nullptr || order->is_done(released); }
};

}  // namespace vectis::inline v0_1::detail
