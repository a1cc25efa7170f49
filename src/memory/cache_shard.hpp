// The fast path of the pool: released blocks on free lists by size class, in shards so that threads rarely contend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "memory/pool_block.hpp"
#include "memory/size_class.hpp"

namespace vectis::inline v0_1::detail {

constexpr std::size_t cache_line_bytes = 64;

// Lock `mutex` around every call. On a cache line of its own, to avoid false sharing.
class alignas(cache_line_bytes) CacheShard {
 public:
  std::mutex mutex;

  // Takes a block that work on `order`'s stream may use at once: released on that stream, or idle. Null without one.
  PoolBlock* take(const SizeClass& size_class, const StreamOrder* order);
  // Takes a block released on another stream, after making `stream` wait for that release. Null without one.
  PoolBlock* steal(const SizeClass& size_class, Stream& stream);
  void put(PoolBlock* block);

  // Takes out every block for which `predicate` is true.
  template <class Predicate>
  std::vector<PoolBlock*> drain(const Predicate& predicate) {
    std::vector<PoolBlock*> taken;
    for (auto& [size_class, list] : free_lists_) {
      std::erase_if(list.blocks, [&](PoolBlock* block) {
        if (!predicate(*block)) return false;
        taken.push_back(block);
        return true;
      });
    }
    for (const PoolBlock* block : taken) bytes_ -= block->memory.bytes();
    return taken;
  }

  // Bounds fragmentation: with more than `max_size_classes`, takes out the blocks of the classes used least since the
  // last call that did so.
  std::vector<PoolBlock*> drop_underused(std::size_t max_size_classes);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct FreeList {
    std::vector<PoolBlock*> blocks;
    std::uint64_t uses = 0;
  };
  std::unordered_map<SizeClass, FreeList, SizeClassHash> free_lists_;
  std::uint64_t bytes_ = 0;
};

constexpr std::size_t shard_count = 16;
using CacheShards = std::array<CacheShard, shard_count>;

// Index of the calling thread's shard, assigned round-robin.
std::size_t shard_of_thread() noexcept;

}  // namespace vectis::inline v0_1::detail
