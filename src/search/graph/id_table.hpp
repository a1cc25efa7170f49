// Hash table from ids to rows.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/common/id_hash.hpp"
#include "search/graph/row_blocks.hpp"

namespace vectis::inline v0_1::graph {

// Hash table from ids to slots: open addressing with linear probing, at most half full. Not thread-safe.
class IdTable {
 public:
  // Returns the slot of the id, or nullopt when the id is absent. Does not throw.
  [[nodiscard]] std::optional<Slot> find(std::uint64_t id) const noexcept {
    if (entries_.empty()) return std::nullopt;
    for (std::size_t i = bucket(id);; i = next(i)) {
      if (entries_[i].slot == empty) return std::nullopt;
      if (entries_[i].id == id) return entries_[i].slot;
    }
  }
  // Makes room for `ids` ids in total, so that insert() needs no memory. Throws std::bad_alloc when memory is
  // exhausted; then nothing changed.
  void reserve(std::size_t ids) {
    const std::size_t wanted = std::bit_ceil(ids * 2 + 16);
    if (wanted <= entries_.size()) return;
    std::vector<Entry> old_entries(wanted);
    old_entries.swap(entries_);
    count_ = 0;
    for (const Entry& entry : old_entries) {
      if (entry.slot != empty) insert(entry.id, entry.slot);
    }
  }
  // Enters an id with its slot. Preconditions, not checked: the id is absent and reserve() made room. Does not throw.
  void insert(std::uint64_t id, Slot slot) noexcept {
    std::size_t i = bucket(id);
    while (entries_[i].slot != empty) i = next(i);
    entries_[i] = {id, slot};
    ++count_;
  }
  // Removes an id, and moves later entries up instead of leaving a deletion marker. Precondition, not checked: the id
  // is present; otherwise the call does not return. Does not throw.
  void erase(std::uint64_t id) noexcept {
    std::size_t hole = bucket(id);
    while (entries_[hole].id != id || entries_[hole].slot == empty) hole = next(hole);
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = next(hole); entries_[i].slot != empty; i = next(i)) {
      if (((i - bucket(entries_[i].id)) & mask) >= ((i - hole) & mask)) {
        entries_[hole] = entries_[i];
        hole = i;
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
  [[nodiscard]] std::size_t bucket(std::uint64_t id) const noexcept {
    return static_cast<std::size_t>(hash_(id)) & (entries_.size() - 1);
  }
  [[nodiscard]] std::size_t next(std::size_t i) const noexcept { return (i + 1) & (entries_.size() - 1); }

  detail::IdHash hash_;
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

}  // namespace vectis::inline v0_1::graph
