#include "replay/best_fit.hpp"

#include <algorithm>
#include <iterator>

namespace vectis::app {

std::uint64_t BestFitArena::rounded(std::uint64_t bytes) const noexcept {
  return (bytes + alignment_ - 1) / alignment_ * alignment_;
}

void BestFitArena::add_free(std::uint64_t offset, std::uint64_t bytes) {
  free_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void BestFitArena::remove_free(std::map<std::uint64_t, std::uint64_t>::iterator range) {
  free_by_size_.erase({range->second, range->first});
  free_.erase(range);
}

std::uint64_t BestFitArena::allocate(std::uint64_t bytes) {
  const std::uint64_t wanted = rounded(bytes);
  std::uint64_t offset = end_;
  const auto best = free_by_size_.lower_bound({wanted, 0});
  if (best != free_by_size_.end()) {
    const auto [free_bytes, free_offset] = *best;
    offset = free_offset;
    remove_free(free_.find(offset));
    if (free_bytes > wanted) add_free(offset + wanted, free_bytes - wanted);
  }
  live_.emplace(offset, wanted);
  in_use_ += wanted;
  end_ = std::max(end_, offset + wanted);
  peak_ = std::max(peak_, end_);
  return offset;
}

std::uint64_t BestFitArena::release(std::uint64_t offset) {
  const auto freed = live_.find(offset);
  const std::uint64_t released = freed->second;
  live_.erase(freed);
  in_use_ -= released;
  std::uint64_t bytes = released;
  const auto after = free_.find(offset + bytes);
  if (after != free_.end()) {
    bytes += after->second;
    remove_free(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove_free(before);
    }
  }
  if (offset + bytes == end_) {
    end_ = offset;
  } else {
    add_free(offset, bytes);
  }
  return released;
}

}  // namespace vectis::app
