// Which row an id is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/graph/row_blocks.hpp"

namespace vectis::inline v0_1::graph {

// Open addressing; at most half full. One thread at a time.
class IdTable {
 public:
  [[nodiscard]] std::optional<Slot> find(std::uint64_t id) const noexcept {
    if (entries_.empty()) return std::nullopt;
    for (std::size_t at = home(id);; at = next(at)) {
      if (entries_[at].slot == empty) return std::nullopt;
      if (entries_[at].id == id) return entries_[at].slot;
    }
  }
  // There is room for this many ids from now on.
  void reserve(std::size_t ids) {
    const std::size_t wanted = std::bit_ceil(ids * 2 + 16);
    if (wanted <= entries_.size()) return;
    std::vector<Entry> before(wanted);
    before.swap(entries_);
    count_ = 0;
    for (const Entry& entry : before) {
      if (entry.slot != empty) insert(entry.id, entry.slot);
    }
  }
  // The id is not there, and there is room.
  void insert(std::uint64_t id, Slot slot) noexcept {
    std::size_t at = home(id);
    while (entries_[at].slot != empty) at = next(at);
    entries_[at] = {id, slot};
    ++count_;
  }
  // Entries behind it move up, so that no mark is left where it was.
  void erase(std::uint64_t id) noexcept {
    std::size_t hole = home(id);
    while (entries_[hole].id != id || entries_[hole].slot == empty) hole = next(hole);
    for (std::size_t at = next(hole); entries_[at].slot != empty; at = next(at)) {
      const std::size_t mask = entries_.size() - 1;
      if (((at - home(entries_[at].id)) & mask) >= ((at - hole) & mask)) {
        entries_[hole] = entries_[at];
        hole = at;
      }
    }
    entries_[hole].slot = empty;
    --count_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return entries_.size() * sizeof(Entry); }

 private:
  static constexpr Slot empty = 0xFFFF'FFFF;
  struct Entry {
    std::uint64_t id = 0;
    Slot slot = empty;
  };
  [[nodiscard]] std::size_t home(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>((id * 0x9E37'79B9'7F4A'7C15ULL) >> 20U) & (entries_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t at) const noexcept { return (at + 1) & (entries_.size() - 1); }

  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

}  // namespace vectis::inline v0_1::graph
