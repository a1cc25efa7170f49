// Segments: rows that share a quantizer, stored as fp32 vectors and as codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/exact/quantizer.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// Codes of consecutive rows, beginning with the first row of a group, and the terms of their bounds
// (docs/exact-search.md).
struct CodeBlock {
  std::size_t first_row = 0;  // in the segment
  std::size_t rows = 0;       // 0: nothing else is valid
  const std::byte* codes = nullptr;
  const float* step = nullptr;            // scale of the row: the value of one unit of an int8 code; else 1
  const float* offset = nullptr;          // under l2 the squared norm, rounded down; else 0
  const float* residual = nullptr;        // norm of the quantization error, rounded up; infinite: not coded
  const float* norm = nullptr;            // rounded up
  const float* group_residual = nullptr;  // maximum of each group
  const float* group_norm = nullptr;
};

// A snapshot of a segment that keeps its memory alive. Immutable, cheap to copy.
struct SegmentView {
  std::shared_ptr<const void> storage;
  const Quantizer* quantizer = nullptr;
  std::size_t rows = 0;
  std::array<CodeBlock, 2> code_blocks;            // whole groups; an incomplete last group. Empty for fp32
  const float* originals = nullptr;                // fp32 vectors, rows * dim; null: full precision was dropped
  const std::uint64_t* ids = nullptr;              // rows
  std::shared_ptr<const std::uint64_t[]> removed;  // tombstones: a bit for each row, lowest first; null: none

  [[nodiscard]] bool is_removed(std::size_t row) const noexcept {
    return removed != nullptr && ((removed.get()[row / 64] >> (row % 64)) & 1U) != 0;
  }
  // Writes the dim floats of a row: the fp32 vector, or the values that its code stands for.
  void read_row(std::size_t row, float* target) const noexcept;
};

// The capacity of a full segment: 64 MiB of fp32 vectors in whole groups, at least one group.
[[nodiscard]] std::size_t segment_rows_max(std::size_t dim) noexcept;

// A segment that grows at its end up to its capacity. Its quantizer is trained on the first rows, so pass many of them
// at first. One thread appends; earlier views do not change.
class Segment {
 public:
  // `vectors` (finite) and `ids` are the first rows: at least one, at most `capacity`.
  Segment(Executor& executor, Metric metric, Precision precision, std::size_t dim, std::size_t capacity,
          std::span<const float> vectors, std::span<const std::uint64_t> ids);
  ~Segment();
  Segment(Segment&&) noexcept;
  Segment& operator=(Segment&&) noexcept;

  void append(Executor& executor, std::span<const float> vectors, std::span<const std::uint64_t> ids);
  [[nodiscard]] SegmentView view() const;
  [[nodiscard]] std::size_t rows() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  // Allocated bytes, those of rows to come included.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Storage;
  std::shared_ptr<Storage> storage_;
};

// Rows with their ids.
struct OwnedRows {
  std::vector<float> vectors;
  std::vector<std::uint64_t> ids;
};

// The rows without tombstones, as SegmentView::read_row reads them.
[[nodiscard]] OwnedRows live_rows(const SegmentView& view);

// The live rows of `view`, quantized again at `precision`.
[[nodiscard]] Segment requantized(Executor& executor, const SegmentView& view, Precision precision,
                                  std::size_t capacity);

}  // namespace vectis::inline v0_1::exact
