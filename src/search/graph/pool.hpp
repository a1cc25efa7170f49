// What a walk remembers.
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

// A score and a slot in one number that orders as the score does, then as the slot.
class Place {
 public:
  Place() = default;
  Place(float score, Slot slot) noexcept : key_((std::uint64_t{ordered(score)} << 32U) | slot) {}

  [[nodiscard]] Slot slot() const noexcept { return static_cast<Slot>(key_); }
  [[nodiscard]] float score() const noexcept { return from_ordered(static_cast<std::uint32_t>(key_ >> 32U)); }
  bool operator<(const Place& other) const noexcept { return key_ < other.key_; }
  bool operator==(const Place& other) const noexcept { return key_ == other.key_; }

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

// The best rows seen so far, nearest first. One thread at a time.
class Pool {
 public:
  void start(std::size_t width) {
    places_.resize(width + 1);
    width_ = width;
    size_ = 0;
    worst_ = std::numeric_limits<float>::infinity();
  }
  // A row that is there already stays; one that fell out must not be nearer now.
  void offer(float score, Slot slot) noexcept {
    const Place place(score, slot);
    if (size_ == width_ && !(place < places_[size_ - 1])) return;
    Place* const begin = places_.data();
    Place* const at = begin + count_before(place);
    if (at != begin + size_ && *at == place) return;
    const std::size_t moved = static_cast<std::size_t>(begin + std::min(size_, width_ - 1) - at);
    std::memmove(at + 1, at, moved * sizeof(Place));
    *at = place;
    size_ = std::min(size_ + 1, width_);
    if (size_ == width_) worst_ = places_[size_ - 1].score();
  }
  // Scores from here on are not taken any more.
  [[nodiscard]] float worst() const noexcept { return worst_; }
  [[nodiscard]] std::span<const Place> places() const noexcept { return {places_.data(), size_}; }

 private:
  // Places nearer than this one, by halves without a branch: which half it is cannot be foreseen.
  [[nodiscard]] std::size_t count_before(const Place& place) const noexcept {
    const Place* begin = places_.data();
    std::size_t left = size_;
    while (left > 1) {
      const std::size_t half = left / 2;
      begin += begin[half - 1] < place ? half : 0;
      left -= half;
    }
    return static_cast<std::size_t>(begin - places_.data()) + (left == 1 && *begin < place ? 1 : 0);
  }

  std::vector<Place> places_;
  std::size_t width_ = 0;
  std::size_t size_ = 0;
  float worst_ = std::numeric_limits<float>::infinity();
};

// Rows that may be visited. One thread at a time.
class Frontier {
 public:
  void start() noexcept { places_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  [[nodiscard]] const Place& nearest() const noexcept { return places_.front(); }
  void push(float score, Slot slot) {
    places_.emplace_back(score, slot);
    std::push_heap(places_.begin(), places_.end(), Farther());
  }
  // The nearest, which is no longer there.
  Place take() noexcept {
    const Place place = places_.front();
    std::pop_heap(places_.begin(), places_.end(), Farther());
    places_.pop_back();
    return place;
  }

 private:
  struct Farther {
    bool operator()(const Place& a, const Place& b) const noexcept { return b < a; }
  };
  std::vector<Place> places_;
};

// Rows met of late. One thread at a time.
class MetLately {
 public:
  MetLately() : table_(size) {}
  void start() { std::fill(table_.begin(), table_.end(), empty); }
  // False when it was met before; true may also be said of one that another has taken the place of since then.
  bool insert(Slot slot) noexcept {
    Slot& place = table_[(slot * 0x9E37'79B1U) >> (32U - size_bits)];
    const bool fresh = place != slot;
    place = slot;
    return fresh;
  }

 private:
  static constexpr unsigned size_bits = 12;
  static constexpr std::size_t size = std::size_t{1} << size_bits;
  static constexpr Slot empty = 0xFFFF'FFFF;
  std::vector<Slot> table_;
};

// All rows a walk has met, where they are few. One thread at a time.
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

// All rows a walk has met, where they are many: a bit for each row there is. One thread at a time.
class Marks {
 public:
  void start() noexcept {
    for (const std::uint32_t word : touched_) words_[word] = 0;
    touched_.clear();
  }
  // False when it was there already.
  bool insert(Slot slot) {
    const std::uint32_t word = slot / 64;
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    if (word >= words_.size()) words_.resize(std::bit_ceil(word + 1U));
    if ((words_[word] & bit) != 0) return false;
    if (words_[word] == 0) touched_.push_back(word);
    words_[word] |= bit;
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> touched_;  // words that are not zero
};

}  // namespace vectis::inline v0_1::graph
