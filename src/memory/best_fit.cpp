#include "memory/best_fit.hpp"

#include <algorithm>
#include <iterator>

namespace vectis::inline v0_1::detail {

std::uint64_t BestFit::placed_bytes(std::uint64_t bytes) const noexcept {
  return (bytes + alignment_ - 1) / alignment_ * alignment_;
}

void BestFit::add_hole(std::uint64_t offset, std::uint64_t bytes) {
  holes_.emplace(offset, bytes);
  holes_by_size_.emplace(bytes, offset);
}

void BestFit::remove_hole(std::map<std::uint64_t, std::uint64_t>::iterator hole) {
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

std::uint64_t BestFit::allocate(std::uint64_t bytes) {
  const std::uint64_t wanted = placed_bytes(bytes);
  std::uint64_t offset = end_;
  const auto best = holes_by_size_.lower_bound({wanted, 0});
  if (best != holes_by_size_.end()) {
    const auto [hole_bytes, hole_offset] = *best;
    offset = hole_offset;
    remove_hole(holes_.find(offset));
    if (hole_bytes > wanted) add_hole(offset + wanted, hole_bytes - wanted);
  }
  live_.emplace(offset, wanted);
  in_use_ += wanted;
  end_ = std::max(end_, offset + wanted);
  peak_ = std::max(peak_, end_);
  return offset;
}

std::uint64_t BestFit::release(std::uint64_t offset) {
  const auto gone = live_.find(offset);
  const std::uint64_t released = gone->second;
  live_.erase(gone);
  in_use_ -= released;
  std::uint64_t bytes = released;
  const auto after = holes_.find(offset + bytes);
  if (after != holes_.end()) {
    bytes += after->second;
    remove_hole(after);
  }
  const auto next = holes_.lower_bound(offset);
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove_hole(before);
    }
  }
  if (offset + bytes == end_) {
    end_ = offset;
  } else {
    add_hole(offset, bytes);
  }
  return released;
}

}  // namespace vectis::inline v0_1::detail
