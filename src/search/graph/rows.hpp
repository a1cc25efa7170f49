// Rows of bytes that never move: a reader may hold a row while others are added.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

using Slot = std::uint32_t;
inline constexpr std::size_t slots_max = 0x7FFF'FFFF;

// Blocks double: block b has rows from first_rows * (2^b - 1) on. One thread grows; any number read rows that it made
// known to them. Pages that were never touched cost nothing.
class Rows {
 public:
  explicit Rows(std::size_t row_bytes) : row_bytes_(row_bytes) {}

  // There is room for this many rows from now on. Allocation when there is no memory; then nothing changed.
  void reserve(std::size_t rows, std::size_t slack_bytes) {
    while (capacity_ < rows) {
      const std::size_t count = first_rows << blocks_.size();
      Pages pages(count * row_bytes_ + slack_bytes);
      blocks_.push_back(std::move(pages));
      begins_[blocks_.size() - 1].store(blocks_.back().data(), std::memory_order_release);
      capacity_ += count;
    }
  }

  // The rows are these, which belong to somebody else and outlive this. Of an empty one, which cannot grow from then
  // on.
  void point_at(std::byte* first, std::size_t rows) noexcept {
    for (std::size_t block = 0; (first_rows << block) - first_rows < rows; ++block) {
      begins_[block].store(first + ((first_rows << block) - first_rows) * row_bytes_, std::memory_order_release);
    }
    capacity_ = rows;
  }

  [[nodiscard]] std::byte* operator[](Slot slot) const noexcept {
    const auto block = static_cast<std::size_t>(std::bit_width(slot / first_rows + 1U)) - 1;
    const std::size_t before = (first_rows << block) - first_rows;
    return begins_[block].load(std::memory_order_relaxed) + (slot - before) * row_bytes_;
  }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }

 private:
  static constexpr std::size_t first_rows = 4096;
  std::size_t row_bytes_;
  std::size_t capacity_ = 0;
  std::array<std::atomic<std::byte*>, 32> begins_{};
  std::vector<Pages> blocks_;
};

}  // namespace vectis::inline v0_1::graph
