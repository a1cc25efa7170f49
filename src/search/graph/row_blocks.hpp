// Fixed-size rows in blocks that never move, so that readers may hold a row while others are added.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

// The position of a row in every array of a graph; below slots_max.
using Slot = std::uint32_t;
inline constexpr std::size_t slots_max = 0x7FFF'FFFF;

// An array of rows of equal size that grows without moving rows: block b holds 4096 * 2^b rows. One thread grows it;
// any number of threads read rows that were published to them. Pages that were never written use no memory.
class RowBlocks {
 public:
  static constexpr std::size_t read_beyond = 64;  // bytes after the last row that may be read, whatever they hold

  explicit RowBlocks(std::size_t row_bytes) : row_bytes_(row_bytes) {}

  // Makes room for `rows` rows in total; new rows are zero and existing rows do not move. Throws Allocation when
  // memory is exhausted; then existing rows are unchanged.
  void reserve(std::size_t rows) {
    while (capacity_ < rows) {
      const std::size_t count = first_rows << blocks_.size();
      blocks_.push_back(std::make_shared<const Pages>(count * row_bytes_ + read_beyond));
      block_begin_[blocks_.size() - 1].store(blocks_.back()->data(), std::memory_order_release);
      capacity_ += count;
    }
  }

  // Uses `rows` rows of foreign memory at `first`, such as a mapped file, instead of its own. If kernels read beyond
  // rows, read_beyond bytes after the last one must be readable. The memory must outlive this object, which must be
  // empty and must not grow afterwards; not checked. Does not throw.
  void point_at(std::byte* first, std::size_t rows) noexcept {
    for (std::size_t block = 0; (first_rows << block) - first_rows < rows; ++block) {
      block_begin_[block].store(first + ((first_rows << block) - first_rows) * row_bytes_, std::memory_order_release);
    }
    capacity_ = rows;
  }

  // Uses the rows of `other`, which has rows of the same size in memory of its own; both may grow afterwards, which
  // shows only in one of them. This object must be empty or have shared the first of these rows before; it may be read
  // meanwhile. Throws std::bad_alloc; then nothing changed.
  void share(const RowBlocks& other) {
    blocks_ = other.blocks_;
    for (std::size_t block = 0; block < blocks_.size(); ++block) {
      block_begin_[block].store(blocks_[block]->data(), std::memory_order_release);
    }
    capacity_ = other.capacity_;
  }

  // Returns the address of a row. Precondition, not checked: reserve() or point_at() provided the row. Does not
  // throw.
  [[nodiscard]] std::byte* operator[](Slot slot) const noexcept {
    const auto block = static_cast<std::size_t>(std::bit_width(slot / first_rows + 1U)) - 1;
    const std::size_t rows_before = (first_rows << block) - first_rows;
    return block_begin_[block].load(std::memory_order_relaxed) + (slot - rows_before) * row_bytes_;
  }
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  // Returns how many rows, beginning with `slot`, follow each other in memory at least. Does not throw.
  [[nodiscard]] static std::size_t rows_to_block_end(Slot slot) noexcept {
    const auto block = static_cast<std::size_t>(std::bit_width(slot / first_rows + 1U)) - 1;
    return (first_rows << (block + 1)) - first_rows - slot;
  }

 private:
  static constexpr std::size_t first_rows = 4096;
  std::size_t row_bytes_;
  std::size_t capacity_ = 0;
  std::array<std::atomic<std::byte*>, 32> block_begin_{};
  std::vector<std::shared_ptr<const Pages>> blocks_;
};

}  // namespace vectis::inline v0_1::graph
