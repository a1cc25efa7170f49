// The fast path of the pool: released blocks on free lists by size class, in shards so that threads rarely contend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/pool_block.hpp"
#include "memory/size_class.hpp"

namespace vectis::inline v0_1::detail {

constexpr std::size_t cache_line_bytes = 64;

// Free lists of released blocks by size class, for some of the threads. The caller must hold `mutex` around every
// call. On a cache line of its own, to avoid false sharing.
class alignas(cache_line_bytes) CacheShard {
 public:
  std::mutex mutex;

  // Takes out the most recently released block of a size class that work on the stream of `order` may use at once:
  // released on that stream, or idle. Null `order`: idle blocks only. Returns null when there is no such block. The
  // caller holds `mutex`.
  PoolBlock* take(const SizeClass& size_class, const StreamOrder* order);
  // Takes out a block of a size class that was released on another stream, after making `stream` wait for that
  // release. Returns null when there is none or no event was recorded; throws the error of the device when the wait
  // cannot be enqueued. The caller holds `mutex`.
  PoolBlock* steal(const SizeClass& size_class, Stream& stream);
  // Adds a released block to the free list of its size class, or, when the host has no memory for that, to a chain from
  // which only drain() takes it. The block must be in no shard, and the caller holds `mutex`. Does not throw.
  void put(PoolBlock* block) noexcept;

  // Takes out every block for which `predicate`, which must not throw, is true, and returns them as a chain. The caller
  // holds `mutex`. Does not throw.
  template <class Predicate>
  PoolBlock* drain(const Predicate& predicate) noexcept {
    PoolBlock* taken = nullptr;
    const auto take_if = [&](PoolBlock* block) {
      if (!predicate(*block)) return false;
      bytes_ -= block->memory.bytes();
      block->cached = false;
      block->next = std::exchange(taken, block);
      return true;
    };
    for (auto& [size_class, list] : free_lists_) std::erase_if(list.blocks, take_if);
    PoolBlock* block = std::exchange(unlisted_, nullptr);
    while (block != nullptr) {
      PoolBlock* const after = block->next;
      if (!take_if(block)) block->next = std::exchange(unlisted_, block);
      block = after;
    }
    return taken;
  }

  // Calls `visitor` with every block, which must not change the shard. The caller holds `mutex`.
  template <class Visitor>
  void visit(const Visitor& visitor) const {
    for (const auto& [size_class, list] : free_lists_) {
      for (const PoolBlock* block : list.blocks) visitor(*block);
    }
    for (const PoolBlock* block = unlisted_; block != nullptr; block = block->next) visitor(*block);
  }

  // Returns the number of size classes with a free list. The caller holds `mutex`.
  [[nodiscard]] std::size_t size_classes() const noexcept { return free_lists_.size(); }
  // Bounds fragmentation: with more than `max_size_classes` size classes, takes out the blocks of the half used least
  // since the last call that took out any, and returns them as a chain; otherwise returns null. The caller holds
  // `mutex`. Throws std::bad_alloc, and changes nothing, when the host is out of memory.
  PoolBlock* drop_underused(std::size_t max_size_classes);

  // Returns the bytes of all blocks in the shard. The caller holds `mutex`.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct FreeList {
    std::vector<PoolBlock*> blocks;
    std::uint64_t uses = 0;
  };
  std::unordered_map<SizeClass, FreeList, SizeClassHash> free_lists_;
  PoolBlock* unlisted_ = nullptr;  // chain of the blocks for whose free list the host had no memory
  std::uint64_t bytes_ = 0;
};

constexpr std::size_t shard_count = 16;
using CacheShards = std::array<CacheShard, shard_count>;

// Returns the index of the calling thread's shard, below shard_count; threads get shards round-robin. Does not throw.
std::size_t shard_of_thread() noexcept;

}  // namespace vectis::inline v0_1::detail
