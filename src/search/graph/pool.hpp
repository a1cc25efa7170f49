// The best rows seen so far on a walk, nearest first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "search/graph/rows.hpp"

namespace vectis::inline v0_1::graph {

// A score and a slot in one number that orders as the score does, then as the slot; the lowest bit says that the walk
// has been there.
class Place {
 public:
  Place() = default;
  Place(float score, Slot slot) noexcept : key_((std::uint64_t{ordered(score)} << 32U) | (std::uint64_t{slot} << 1U)) {}

  [[nodiscard]] Slot slot() const noexcept { return static_cast<Slot>(key_ & 0xFFFF'FFFFU) >> 1U; }
  [[nodiscard]] float score() const noexcept { return from_ordered(static_cast<std::uint32_t>(key_ >> 32U)); }
  [[nodiscard]] bool visited() const noexcept { return (key_ & 1U) != 0; }
  void visit() noexcept { key_ |= 1U; }
  bool operator<(const Place& other) const noexcept { return key_ < other.key_; }

 private:
  static std::uint32_t ordered(float score) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    return (bits & 0x8000'0000U) != 0 ? ~bits : bits | 0x8000'0000U;
  }
  static float from_ordered(std::uint32_t bits) noexcept {
    return std::bit_cast<float>((bits & 0x8000'0000U) != 0 ? bits & 0x7FFF'FFFFU : ~bits);
  }

  std::uint64_t key_ = 0;
};

// One thread at a time.
class Pool {
 public:
  void start(std::size_t width) {
    places_.resize(width + 1);
    width_ = width;
    size_ = 0;
    next_ = 0;
  }
  // Every row must be offered once.
  void offer(float score, Slot slot) noexcept {
    const Place place(score, slot);
    if (size_ == width_ && !(place < places_[size_ - 1])) return;
    Place* const begin = places_.data();
    Place* const at = std::lower_bound(begin, begin + size_, place);
    const std::size_t moved = static_cast<std::size_t>(begin + std::min(size_, width_ - 1) - at);
    std::memmove(at + 1, at, moved * sizeof(Place));
    *at = place;
    size_ = std::min(size_ + 1, width_);
    next_ = std::min(next_, static_cast<std::size_t>(at - begin));
  }
  // Scores from here on are not taken any more.
  [[nodiscard]] float worst() const noexcept {
    return size_ < width_ ? std::numeric_limits<float>::infinity() : places_[size_ - 1].score();
  }
  // The nearest row that was not visited yet is, or false.
  bool visit_next(Slot& slot) noexcept {
    while (next_ < size_ && places_[next_].visited()) ++next_;
    if (next_ == size_) return false;
    places_[next_].visit();
    slot = places_[next_++].slot();
    return true;
  }
  // Who would probably be visited next.
  [[nodiscard]] const Place* peek() const noexcept {
    std::size_t i = next_;
    while (i < size_ && places_[i].visited()) ++i;
    return i < size_ ? &places_[i] : nullptr;
  }
  [[nodiscard]] std::span<const Place> places() const noexcept { return {places_.data(), size_}; }

 private:
  std::vector<Place> places_;
  std::size_t width_ = 0;
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

// The rows a walk has met. One thread at a time.
class Met {
 public:
  void start(std::size_t expected) {
    table_.assign(std::bit_ceil(std::max<std::size_t>(1024, expected * 2)), empty);
    count_ = 0;
  }
  // False when it was there already.
  bool insert(Slot slot) {
    if (count_ * 2 >= table_.size()) grow();
    const std::size_t mask = table_.size() - 1;
    std::size_t at = hash(slot) & mask;
    while (table_[at] != empty) {
      if (table_[at] == slot) return false;
      at = (at + 1) & mask;
    }
    table_[at] = slot;
    ++count_;
    return true;
  }

 private:
  static constexpr Slot empty = 0xFFFF'FFFF;
  static std::size_t hash(Slot slot) noexcept { return (slot * 0x9E37'79B1U) >> 8U; }
  void grow() {
    std::vector<Slot> before(table_.size() * 2, empty);
    before.swap(table_);
    count_ = 0;
    for (const Slot slot : before) {
      if (slot != empty) insert(slot);
    }
  }

  std::vector<Slot> table_;
  std::size_t count_ = 0;
};

}  // namespace vectis::inline v0_1::graph
