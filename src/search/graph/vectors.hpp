// The vectors as the user gave them, whole or a byte a number.
#pragma once

#include <cstddef>
#include <span>

#include "search/graph/rows.hpp"

namespace vectis::inline v0_1::graph {

// Any number of threads may read rows that were made known to them.
class Vectors {
 public:
  Vectors(std::size_t dim, bool whole);

  [[nodiscard]] bool whole() const noexcept { return whole_; }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return rows_.row_bytes(); }
  void reserve(std::size_t rows) { rows_.reserve(rows, 0); }
  // As Rows has it.
  void point_at(std::byte* first, std::size_t rows) noexcept { rows_.point_at(first, rows); }
  void prefetch(Slot slot) const noexcept { __builtin_prefetch(rows_[slot]); }

  void write(Slot slot, const float* vector) const noexcept;
  // The row's numbers, where they are or decoded into `scratch`, which has room for them.
  [[nodiscard]] const float* numbers(Slot slot, float* scratch) const noexcept;
  // The row as it is kept.
  [[nodiscard]] std::span<std::byte> bytes(Slot slot) const noexcept { return {rows_[slot], rows_.row_bytes()}; }
  // Whether all numbers of a row are finite that lies, as it is kept, at these bytes.
  [[nodiscard]] bool finite(const std::byte* row) const noexcept;

 private:
  std::size_t dim_;
  bool whole_;
  Rows rows_;
};

}  // namespace vectis::inline v0_1::graph
