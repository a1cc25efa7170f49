// Released blocks by kind, in shards that threads do not share: the fast path of the pool.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "memory/pool_block.hpp"

namespace vectis::inline v0_1::detail {

struct KindHash {
  std::size_t operator()(const BufferKind& kind) const noexcept {
    return (kind.bytes + static_cast<std::size_t>(kind.precision)) * 0x9E3779B97F4A7C15ULL >> 7;
  }
};

// Threads side by side must not share a cache line.
constexpr std::size_t line_bytes = 64;

// One shard; lock `mutex` around every call.
class alignas(line_bytes) CacheShard {
 public:
  std::mutex mutex;

  // A block of the kind that `order` may use at once: released on the same stream, or done. Null: none.
  PoolBlock* take(const BufferKind& kind, const StreamOrder* order);
  // A block of the kind released on another stream, once `stream` was made to wait for it. Null: none.
  PoolBlock* steal(const BufferKind& kind, Stream& stream);
  void put(PoolBlock* block);

  // Takes out every block for which `wanted` is true.
  template <class Predicate>
  std::vector<PoolBlock*> drain(const Predicate& wanted) {
    std::vector<PoolBlock*> taken;
    for (auto& [kind, bin] : bins_) {
      std::erase_if(bin.blocks, [&](PoolBlock* block) {
        if (!wanted(*block)) return false;
        taken.push_back(block);
        return true;
      });
    }
    for (const PoolBlock* block : taken) bytes_ -= block->memory.bytes();
    return taken;
  }

  // Fragmentation control: with more than `kinds_max` kinds, takes out the blocks of those used least since the last
  // time.
  std::vector<PoolBlock*> drop_underused(std::size_t kinds_max);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t kinds() const noexcept { return bins_.size(); }

 private:
  struct Bin {
    std::vector<PoolBlock*> blocks;
    std::uint64_t uses = 0;
  };
  std::unordered_map<BufferKind, Bin, KindHash> bins_;
  std::uint64_t bytes_ = 0;
};

constexpr std::size_t shard_count = 16;
using CacheShards = std::array<CacheShard, shard_count>;

// The shard of this thread: threads get them in turn.
std::size_t my_shard() noexcept;

}  // namespace vectis::inline v0_1::detail
