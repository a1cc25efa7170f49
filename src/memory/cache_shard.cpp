#include "memory/cache_shard.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace vectis::inline v0_1::detail {

namespace {

// Takes the most recently released block that satisfies a condition: the likeliest to be in the device's cache.
template <class Condition>
PoolBlock* pop_newest(std::vector<PoolBlock*>& blocks, const Condition& condition) {
  for (auto position = blocks.rbegin(); position != blocks.rend(); ++position) {
    PoolBlock* block = *position;
    if (!condition(*block)) continue;
    blocks.erase(std::next(position).base());
    block->cached = false;
    return block;
  }
  return nullptr;
}

}  // namespace

PoolBlock* CacheShard::take(const SizeClass& size_class, const StreamOrder* order) {
  const auto list = free_lists_.find(size_class);
  if (list == free_lists_.end()) return nullptr;
  PoolBlock* block = pop_newest(list->second.blocks, [&](const PoolBlock& one) {
    return one.order == nullptr || one.order.get() == order || one.is_idle();
  });
  if (block == nullptr) return nullptr;
  ++list->second.uses;
  bytes_ -= size_class.bytes;
  return block;
}

PoolBlock* CacheShard::steal(const SizeClass& size_class, Stream& stream) {
  const auto list = free_lists_.find(size_class);
  if (list == free_lists_.end()) return nullptr;
  PoolBlock* block = pop_newest(list->second.blocks, [&](const PoolBlock& one) {
    return one.order == nullptr || one.order->hand_over(one.released, stream);
  });
  if (block != nullptr) bytes_ -= size_class.bytes;
  return block;
}

void CacheShard::put(PoolBlock* block) noexcept {
  try {
    free_lists_[block->size_class()].blocks.push_back(block);
  } catch (const std::bad_alloc&) {
    block->next = std::exchange(unlisted_, block);
  }
  block->cached = true;
  bytes_ += block->memory.bytes();
}

PoolBlock* CacheShard::drop_underused(std::size_t max_size_classes) {
  if (free_lists_.size() <= max_size_classes) return nullptr;
  std::vector<std::uint64_t> uses;
  for (const auto& [size_class, list] : free_lists_) uses.push_back(list.uses);
  auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
  std::ranges::nth_element(uses, middle);
  PoolBlock* dropped = nullptr;
  for (auto& [size_class, list] : free_lists_) {
    if (list.uses > *middle) continue;
    for (PoolBlock* block : list.blocks) {
      bytes_ -= block->memory.bytes();
      block->cached = false;
      block->next = std::exchange(dropped, block);
    }
  }
  std::erase_if(free_lists_, [&](const auto& entry) { return entry.second.uses <= *middle; });
  for (auto& [size_class, list] : free_lists_) list.uses = 0;
  return dropped;
}

std::size_t shard_of_thread() noexcept {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t shard = threads++ % shard_count;
  return shard;
}

}  // namespace vectis::inline v0_1::detail
