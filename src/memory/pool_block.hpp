// One block of a pool: a piece of a segment with the memory handle that goes with it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "memory/block_map.hpp"
#include "memory/stream_order.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/context.hpp"

namespace vectis::inline v0_1::detail {

// What several requests can share: equal size and precision.
struct BufferKind {
  std::uint64_t bytes = 0;
  Precision precision = Precision::fp32;
  bool operator==(const BufferKind&) const = default;
};

class TagCounters;

struct PoolBlock {
  PoolBlock(BlockMap::BlockId place, DeviceMemory piece) : id(place), memory(std::move(piece)) {}

  const BlockMap::BlockId id;
  const DeviceMemory memory;  // as long as the block, so that reuse makes no handle

  // Guarded by the lock of whichever shard changes them; readers hold all.
  bool live = false;
  Precision precision = Precision::fp32;
  std::uint64_t requested = 0;
  std::uint64_t number = 0;  // of the allocation
  TimePoint since{};
  TagCounters* tag = nullptr;
  std::shared_ptr<StreamOrder> order;  // of the stream it is used on; null: released means done
  std::uint64_t released = 0;          // its place in that order

  [[nodiscard]] BufferKind kind() const noexcept { return {memory.bytes(), precision}; }
  // All work on a released block is done, so that anybody may have it.
  [[nodiscard]] bool done() const noexcept { return order == nullptr || order->done(released); }
};

}  // namespace vectis::inline v0_1::detail
