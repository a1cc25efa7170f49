#include "memory/front_cache.hpp"

#include <algorithm>
#include <atomic>

namespace vectis::inline v0_1::detail {

namespace {

// The newest block of a bin that satisfies a condition: the one most likely still in a cache of the device.
template <class Condition>
PoolBlock* pop_newest(std::vector<PoolBlock*>& blocks, const Condition& condition) {
  for (auto position = blocks.rbegin(); position != blocks.rend(); ++position) {
    PoolBlock* block = *position;
    if (!condition(*block)) continue;
    blocks.erase(std::next(position).base());
    return block;
  }
  return nullptr;
}

}  // namespace

PoolBlock* CacheShard::take(const BufferKind& kind, const StreamOrder* order) {
  const auto bin = bins_.find(kind);
  if (bin == bins_.end()) return nullptr;
  PoolBlock* block = pop_newest(bin->second.blocks, [&](const PoolBlock& one) {
    return one.order == nullptr || one.order.get() == order || one.done();
  });
  if (block == nullptr) return nullptr;
  ++bin->second.uses;
  bytes_ -= kind.bytes;
  return block;
}

PoolBlock* CacheShard::steal(const BufferKind& kind, Stream& stream) {
  const auto bin = bins_.find(kind);
  if (bin == bins_.end()) return nullptr;
  PoolBlock* block = pop_newest(bin->second.blocks, [&](const PoolBlock& one) {
    return one.order == nullptr || one.order->hand_over(one.released, stream);
  });
  if (block != nullptr) bytes_ -= kind.bytes;
  return block;
}

void CacheShard::put(PoolBlock* block) {
  bins_[block->kind()].blocks.push_back(block);
  bytes_ += block->memory.bytes();
}

std::vector<PoolBlock*> CacheShard::drop_underused(std::size_t kinds_max) {
  if (bins_.size() <= kinds_max) return {};
  std::vector<std::uint64_t> uses;
  for (const auto& [kind, bin] : bins_) uses.push_back(bin.uses);
  auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
  std::ranges::nth_element(uses, middle);
  std::vector<PoolBlock*> dropped;
  for (auto& [kind, bin] : bins_) {
    if (bin.uses <= *middle) dropped.insert(dropped.end(), bin.blocks.begin(), bin.blocks.end());
  }
  std::erase_if(bins_, [&](const auto& entry) { return entry.second.uses <= *middle; });
  for (auto& [kind, bin] : bins_) bin.uses = 0;
  for (const PoolBlock* block : dropped) bytes_ -= block->memory.bytes();
  return dropped;
}

std::size_t my_shard() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t mine = threads++ % shard_count;
  return mine;
}

}  // namespace vectis::inline v0_1::detail
