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

// A row and its score, packed into one integer that orders by score, then by slot. Scores must not be NaN. Immutable.
class Neighbor {
 public:
  Neighbor() = default;
  Neighbor(float score, Slot slot) noexcept : key_((std::uint64_t{ordered(score)} << 32U) | slot) {}

  [[nodiscard]] Slot slot() const noexcept { return static_cast<Slot>(key_); }
  [[nodiscard]] float score() const noexcept { return from_ordered(static_cast<std::uint32_t>(key_ >> 32U)); }
  bool operator<(const Neighbor& other) const noexcept { return key_ < other.key_; }
  bool operator==(const Neighbor& other) const noexcept { return key_ == other.key_; }

 private:
  // Returns an unsigned integer for a float; integers order as the floats do. NaN has no meaningful order.
  static std::uint32_t ordered(float score) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
  }
  static float from_ordered(std::uint32_t bits) noexcept {
    return std::bit_cast<float>((bits & 0x8000'0000U) != 0 ? bits & 0x7FFF'FFFFU : ~bits);
  }

  std::uint64_t key_ = 0;
};

// Holds the `width` best neighbors pushed so far as a sorted array. Call clear() before the first push. Not
// thread-safe.
class TopK {
 public:
  // Empties the queue and sets how many neighbors it keeps; width must be at least 1, not checked. Throws
  // std::bad_alloc when memory is exhausted.
  void clear(std::size_t width) {
    neighbors_.resize(width + 1);
    width_ = width;
    size_ = 0;
    worst_score_ = std::numeric_limits<float>::infinity();
  }
  // Adds a row if it is among the `width` best, and drops the worst when the queue is full. Has no effect while the
  // row is in the queue; a row's score must not change between pushes. Precondition: clear() was called. Does not
  // throw.
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
  // Returns the largest score in a full queue, and infinity while the queue has room. Does not throw.
  [[nodiscard]] float worst_score() const noexcept { return worst_score_; }
  // Returns the neighbors in the queue, nearest first; valid until the next push or clear. Does not throw.
  [[nodiscard]] std::span<const Neighbor> sorted() const noexcept { return {neighbors_.data(), size_}; }

 private:
  // Returns the position of the first neighbor that is not less than `neighbor`, or size_. Branch-free binary search,
  // because the direction of each step is unpredictable.
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

// The rows that a search may still expand, as a min-heap by score. Not thread-safe.
class Frontier {
 public:
  void clear() noexcept { heap_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  // Returns the nearest row. Precondition, not checked: the frontier is not empty.
  [[nodiscard]] const Neighbor& nearest() const noexcept { return heap_.front(); }
  // Adds a row; a row may be added twice. Throws std::bad_alloc when memory is exhausted.
  void push(float score, Slot slot) {
    heap_.emplace_back(score, slot);
    std::push_heap(heap_.begin(), heap_.end(), Farther());
  }
  // Removes and returns the nearest row. Precondition, not checked: the frontier is not empty. Does not throw.
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
