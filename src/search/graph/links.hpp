// Who a row's neighbours are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "search/graph/rows.hpp"

namespace vectis::inline v0_1::graph {

// Lists of at most degree() slots, each of as few bytes as all slots need. A list is written by one thread at a time
// while others read it: they find the list before or the list after. Its first word holds the number of writes so far,
// odd while one is under way, and the length; the slots follow right behind.
class Links {
 public:
  static constexpr Slot no_link = 0xFFFF'FFFF;
  static constexpr std::size_t degree_max = 255;

  Links(std::size_t degree, std::size_t slot_bytes)
      : degree_(degree),
        slot_bytes_(slot_bytes),
        mask_(static_cast<Slot>((std::uint64_t{1} << (8 * slot_bytes)) - 1)),
        rows_(words_for(degree) * sizeof(Word)) {}

  // The fewest bytes with which so many slots can be told apart.
  [[nodiscard]] static std::size_t slot_bytes_for(std::size_t rows) noexcept {
    return rows <= 1U << 16U ? 2 : rows <= 1U << 24U ? 3 : 4;
  }

  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row_bytes(); }
  void reserve(std::size_t rows) { rows_.reserve(rows, 0); }
  // As Rows has it; lists as encode makes them.
  void point_at(std::byte* first, std::size_t rows) noexcept { rows_.point_at(first, rows); }
  [[nodiscard]] const void* address(Slot slot) const noexcept { return rows_[slot]; }

  // Copies the list to `target`, which has room for degree(); returns its length.
  std::size_t read(Slot slot, Slot* target) const noexcept {
    Word copy[words_max + 1];
    copy_list(words_of(slot), copy);
    return unpack(copy, target);
  }

  void write(Slot slot, std::span<const Slot> links) const noexcept {
    Word* const list = words_of(slot);
    Word copy[words_max + 1] = {};
    pack(links, copy);
    const auto before = static_cast<std::uint32_t>(std::atomic_ref(list[0]).load(std::memory_order_relaxed));
    // Every store is one of release, so that none of them comes before the one that says a write is under way.
    std::atomic_ref(list[0]).store(before + 1, std::memory_order_relaxed);
    for (std::size_t i = 1; i < words_for(links.size()); ++i) {
      std::atomic_ref(list[i]).store(copy[i], std::memory_order_release);
    }
    std::atomic_ref(list[0]).store(copy[0] | static_cast<std::uint32_t>(before + 2), std::memory_order_release);
  }

  // A list as row_bytes() in a file: no writes so far, zeros behind its end.
  void encode(std::span<const Slot> links, std::byte* bytes) const noexcept {
    Word copy[words_max + 1] = {};
    pack(links, copy);
    std::memcpy(bytes, copy, row_bytes());
  }
  // Whatever length and slots are written there: `target` has room for degree_max.
  std::size_t decode(const std::byte* bytes, Slot* target) const noexcept {
    Word copy[words_max + 1] = {};
    std::memcpy(copy, bytes, row_bytes());
    return count_of(copy) > degree_ ? count_of(copy) : unpack(copy, target);
  }
  // Whether nobody was writing the list, as encode leaves it.
  static bool at_rest(const std::byte* bytes) noexcept {
    std::uint32_t writes = 0;
    std::memcpy(&writes, bytes, sizeof writes);
    return writes == 0;
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t head_bytes = 5;
  static constexpr std::size_t words_max = (head_bytes + degree_max * sizeof(Slot) + sizeof(Word) - 1) / sizeof(Word);

  [[nodiscard]] std::size_t words_for(std::size_t links) const noexcept {
    return (head_bytes + links * slot_bytes_ + sizeof(Word) - 1) / sizeof(Word);
  }
  [[nodiscard]] Word* words_of(Slot slot) const noexcept { return reinterpret_cast<Word*>(rows_[slot]); }

  static std::size_t count_of(const Word* list) noexcept { return static_cast<std::size_t>((list[0] >> 32U) & 0xFFU); }

  void pack(std::span<const Slot> links, Word* list) const noexcept {
    list[0] = Word{links.size()} << 32U;
    auto* bytes = reinterpret_cast<std::byte*>(list) + head_bytes;
    for (std::size_t i = 0; i < links.size(); ++i, bytes += slot_bytes_) std::memcpy(bytes, &links[i], slot_bytes_);
  }
  std::size_t unpack(const Word* list, Slot* target) const noexcept {
    const auto* bytes = reinterpret_cast<const std::byte*>(list) + head_bytes;
    for (std::size_t i = 0; i < count_of(list); ++i, bytes += slot_bytes_) {
      Slot link = 0;
      std::memcpy(&link, bytes, sizeof link);
      target[i] = link & mask_;
    }
    return count_of(list);
  }

  // Every load is one of acquire, so that the second look at the first word comes after all of them.
  void copy_list(Word* list, Word* copy) const noexcept {
    for (;;) {
      copy[0] = std::atomic_ref(list[0]).load(std::memory_order_acquire);
      if ((copy[0] & 1U) != 0) continue;
      const std::size_t words = words_for(count_of(copy));
      for (std::size_t i = 1; i < words; ++i) copy[i] = std::atomic_ref(list[i]).load(std::memory_order_acquire);
      if (std::atomic_ref(list[0]).load(std::memory_order_relaxed) == copy[0]) return;
    }
  }

  std::size_t degree_;
  std::size_t slot_bytes_;
  Slot mask_;
  Rows rows_;
};

}  // namespace vectis::inline v0_1::graph
