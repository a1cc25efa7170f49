// Who a row's neighbours are.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "search/graph/rows.hpp"

namespace vectis::inline v0_1::graph {

// A list of fixed length whose end is no_link. Writers replace lists while readers walk: a reader may see some links of
// the list before and some of the next, every one of them a row that is complete.
class Links {
 public:
  static constexpr Slot no_link = 0xFFFF'FFFF;

  explicit Links(std::size_t degree) : degree_(degree), rows_(degree * sizeof(Slot)) {}

  [[nodiscard]] std::size_t degree() const noexcept { return degree_; }
  void reserve(std::size_t rows) { rows_.reserve(rows, 0); }
  [[nodiscard]] const void* address(Slot slot) const noexcept { return rows_[slot]; }

  // Copies the list to `target`, which has room for degree(); returns its length.
  std::size_t read(Slot slot, Slot* target) const noexcept {
    Slot* const list = list_of(slot);
    std::size_t count = 0;
    for (; count < degree_; ++count) {
      const Slot link = std::atomic_ref(list[count]).load(std::memory_order_acquire);
      if (link == no_link) break;
      target[count] = link;
    }
    return count;
  }
  void write(Slot slot, std::span<const Slot> links) const noexcept {
    Slot* const list = list_of(slot);
    for (std::size_t i = 0; i < degree_; ++i) {
      std::atomic_ref(list[i]).store(i < links.size() ? links[i] : no_link, std::memory_order_release);
    }
  }

 private:
  [[nodiscard]] Slot* list_of(Slot slot) const noexcept { return reinterpret_cast<Slot*>(rows_[slot]); }

  std::size_t degree_;
  Rows rows_;
};

}  // namespace vectis::inline v0_1::graph
