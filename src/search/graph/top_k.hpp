// The two queues of a best-first search: the best rows found, and the rows that may still be expanded.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "search/graph/row_blocks.hpp"

namespace vectis::inline v0_1::graph {

// A row and its score, packed into one integer that orders by score, then by slot.
class Neighbor {
 public:
  Neighbor() = default;
  Neighbor(float score, Slot slot) noexcept : key_((std::uint64_t{ordered(score)} << 32U) | slot) {}

  [[nodiscard]] Slot slot() const noexcept { return static_cast<Slot>(key_); }
  [[nodiscard]] float score() const noexcept { return from_ordered(static_cast<std::uint32_t>(key_ >> 32U)); }
  bool operator<(const Neighbor& other) const noexcept { return key_ < other.key_; }
  bool operator==(const Neighbor& other) const noexcept { return key_ == other.key_; }

 private:
  // Maps floats to unsigned integers of the same order.
  static std::uint32_t ordered(float score) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
  }
  static float from_ordered(std::uint32_t bits) noexcept {
    return std::bit_cast<float>((bits & 0x8000'0000U) != 0 ? bits & 0x7FFF'FFFFU : ~bits);
  }

  std::uint64_t key_ = 0;
};

// The `width` best neighbors pushed so far, as a sorted array. Not thread-safe.
class TopK {
 public:
  void clear(std::size_t width) {
    neighbors_.resize(width + 1);
    width_ = width;
    size_ = 0;
    worst_score_ = std::numeric_limits<float>::infinity();
  }
  // Pushing an element again has no effect while it is in the queue. A row's score must not change between pushes.
  void push(float score, Slot slot) noexcept {
    const Neighbor neighbor(score, slot);
    if (size_ == width_ && !(neighbor < neighbors_[size_ - 1])) return;
    Neighbor* const begin = neighbors_.data();
    Neighbor* const position = begin + lower_bound(neighbor);
    if (position != begin + size_ && *position == neighbor) return;
    const std::size_t moved = static_cast<std::size_t>(begin + std::min(size_, width_ - 1) - position);
    std::memmove(position + 1, position, moved * sizeof(Neighbor));
    *position = neighbor;
    size_ = std::min(size_ + 1, width_);
    if (size_ == width_) worst_score_ = neighbors_[size_ - 1].score();
  }
  // The largest score in a full queue; infinity while the queue has room.
  [[nodiscard]] float worst_score() const noexcept { return worst_score_; }
  // Nearest first.
  [[nodiscard]] std::span<const Neighbor> sorted() const noexcept { return {neighbors_.data(), size_}; }

 private:
  // Branch-free binary search: the direction of each step is unpredictable.
  [[nodiscard]] std::size_t lower_bound(const Neighbor& neighbor) const noexcept {
    const Neighbor* begin = neighbors_.data();
    std::size_t left = size_;
    while (left > 1) {
      const std::size_t half = left / 2;
      begin += begin[half - 1] < neighbor ? half : 0;
      left -= half;
    }
    return static_cast<std::size_t>(begin - neighbors_.data()) + (left == 1 && *begin < neighbor ? 1 : 0);
  }

  std::vector<Neighbor> neighbors_;
  std::size_t width_ = 0;
  std::size_t size_ = 0;
  float worst_score_ = std::numeric_limits<float>::infinity();
};

// Min-heap of the rows that a search may still expand. Not thread-safe.
class Frontier {
 public:
  void clear() noexcept { heap_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] const Neighbor& nearest() const noexcept { return heap_.front(); }
  void push(float score, Slot slot) {
    heap_.emplace_back(score, slot);
    std::push_heap(heap_.begin(), heap_.end(), Farther());
  }
  // Removes and returns the nearest row. The frontier must not be empty.
  Neighbor pop() noexcept {
    const Neighbor neighbor = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), Farther());
    heap_.pop_back();
    return neighbor;
  }

 private:
  struct Farther {
    bool operator()(const Neighbor& a, const Neighbor& b) const noexcept { return b < a; }
  };
  std::vector<Neighbor> heap_;
};

}  // namespace vectis::inline v0_1::graph
