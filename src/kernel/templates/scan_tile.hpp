// The kernel of scan_bounds: tiles of dot products of rows and queries, and what becomes of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::uint64_t scan_terms = 4;  // of a row, and of a query

// The division of a tile among the work-items of a group.
struct ScanShape {
  std::uint32_t across, down;             // work-items
  std::uint32_t rows_each, queries_each;  // results of one
  std::uint32_t depth;                    // words of a block
  std::uint32_t x_width_max = 4, q_width_max = 4;
  [[nodiscard]] std::uint32_t rows() const { return across * rows_each; }
  [[nodiscard]] std::uint32_t queries() const { return down * queries_each; }
  [[nodiscard]] std::uint32_t items() const { return across * down; }
  // A tile of few queries, and so with few results of a work-item: a barrier takes longer than what it saves.
  [[nodiscard]] bool narrow() const { return rows_each <= 2; }
  // Rows, and queries, side by side whose words a work-item reads together.
  [[nodiscard]] std::uint32_t x_width() const { return std::min(rows_each, x_width_max); }
  [[nodiscard]] std::uint32_t q_width() const { return std::min(queries_each, q_width_max); }
  // Words from one depth of a block to the next. Lanes of a warp that store words of rows then use different banks of
  // shared memory; those of the queries of narrow tiles, which are few, up to four the same.
  [[nodiscard]] std::uint32_t x_pitch() const { return rows() + std::max(x_width(), 2U); }
  [[nodiscard]] std::uint32_t q_pitch() const { return queries() + q_width(); }
  [[nodiscard]] std::uint32_t shared_words() const { return depth * (x_pitch() + q_pitch()); }
};

// What a scan kernel is made for.
struct ScanKernel {
  DType element = DType::float32;
  DType query_element = DType::float32;
  ScanShape shape;
  bool whole_words = false;  // no word of int8 elements lies across two words, or beyond the end of a row
  bool mma = false;          // by matrix units, in dialects that have them
  bool by_pairs = false;     // with those: rows consist of whole pairs of words

  [[nodiscard]] bool packed() const { return element == DType::int8; }
};

// Returns the kernel that the operation scan_bounds launches, with the dimensions of `kernel`.
KernelSource scan_source(const ScanKernel& kernel);

}  // namespace vectis::inline v0_1::detail
