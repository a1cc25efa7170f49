// Which rows a search has already met: three sets with different costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/graph/row_blocks.hpp"

namespace vectis::inline v0_1::graph {

// Lossy visited filter: a direct-mapped hash table of the rows met last, small enough for the L1 cache. May forget a
// row, which a search then scores twice. Call clear() before the first insert. Not thread-safe.
class VisitedFilter {
 public:
  VisitedFilter() : table_(size) {}
  void clear() { std::fill(table_.begin(), table_.end(), empty); }
  // Enters a row and returns whether it is new. May report a visited row as new after a hash collision, but never a
  // new row as visited. Precondition: clear() was called. Does not throw.
  bool insert(Slot slot) noexcept {
    Slot& bucket = table_[(slot * 0x9E37'79B1U) >> (32U - size_bits)];
    const bool is_new = bucket != slot;
    bucket = slot;
    return is_new;
  }

 private:
  static constexpr unsigned size_bits = 12;
  static constexpr std::size_t size = std::size_t{1} << size_bits;
  static constexpr Slot empty = 0xFFFF'FFFF;
  std::vector<Slot> table_;
};

// Exact visited set for few rows: a hash set with linear probing. Call clear() before the first insert. Not
// thread-safe.
class VisitedSet {
 public:
  // Empties the set and makes room for `expected_rows` rows; it grows beyond. Throws std::bad_alloc when memory is
  // exhausted.
  void clear(std::size_t expected_rows) {
    table_.assign(std::bit_ceil(std::max<std::size_t>(1024, expected_rows * 2)), empty);
    count_ = 0;
  }
  // Enters a row and returns whether it is new. Precondition: clear() was called. Throws std::bad_alloc when the set
  // must grow and memory is exhausted.
  bool insert(Slot slot) {
    if (count_ * 2 >= table_.size()) grow();
    const std::size_t mask = table_.size() - 1;
    std::size_t bucket = hash(slot) & mask;
    while (table_[bucket] != empty) {
      if (table_[bucket] == slot) return false;
      bucket = (bucket + 1) & mask;
    }
    table_[bucket] = slot;
    ++count_;
    return true;
  }

 private:
  static constexpr Slot empty = 0xFFFF'FFFF;
  static std::size_t hash(Slot slot) noexcept { return (slot * 0x9E37'79B1U) >> 8U; }
  void grow() {
    std::vector<Slot> old_table(table_.size() * 2, empty);
    old_table.swap(table_);
    count_ = 0;
    for (const Slot slot : old_table) {
      if (slot != empty) insert(slot);
    }
  }

  std::vector<Slot> table_;
  std::size_t count_ = 0;
};

// Exact visited set for many rows: one bit per row of the graph. clear() takes time in proportion to the rows that
// were entered, not to the graph. Not thread-safe.
class VisitedBitmap {
 public:
  void clear() noexcept {
    for (const std::uint32_t word : nonzero_words_) words_[word] = 0;
    nonzero_words_.clear();
  }
  // Enters a row and returns whether it is new; grows the bitmap as needed. Throws std::bad_alloc when memory is
  // exhausted.
  bool insert(Slot slot) {
    const std::uint32_t word = slot / 64;
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    if (word >= words_.size()) words_.resize(std::bit_ceil(word + 1U));
    if ((words_[word] & bit) != 0) return false;
    if (words_[word] == 0) nonzero_words_.push_back(word);
    words_[word] |= bit;
    return true;
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> nonzero_words_;
};

}  // namespace vectis::inline v0_1::graph
