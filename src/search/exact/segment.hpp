// Segments: rows that share a quantizer, stored as fp32 vectors and as codes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/exact/quantizer.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// A view of the codes of consecutive rows, beginning with the first row of a group, and of the terms of their bounds
// (docs/exact-search.md). Owns nothing: the SegmentView that contains it keeps the memory alive.
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

// A snapshot of the rows of a segment, which keeps their memory alive through `storage` and `last_group`. Immutable,
// cheap to copy, and readable by any number of threads. Row indexes are not checked.
struct SegmentView {
  std::shared_ptr<const void> storage;     // the same for all views of a segment, whose rows never change
  std::shared_ptr<const void> last_group;  // a copy of the group that still grows; null when there is none
  const Quantizer* quantizer = nullptr;
  std::size_t rows = 0;
  // [0]: the whole groups of 16 rows; [1]: an incomplete last group, empty without one. Both may be empty: then
  // host_search encodes `originals` while it scans. With fp32, which has no codes,
  // [0] has the terms of all rows under cosine and inner_product, and [1] is empty; under the other metrics both
  // blocks are empty.
  std::array<CodeBlock, 2> code_blocks;
  const float* originals = nullptr;                // fp32 vectors, rows * dim; null: full precision was dropped
  const std::uint64_t* ids = nullptr;              // rows
  std::shared_ptr<const std::uint64_t[]> removed;  // tombstones: a bit for each row, lowest first; null: none
  std::optional<int> device;  // id of the device that was active when the rows were added; empty: any

  // Returns whether a scan must encode the rows first. Does not throw.
  [[nodiscard]] bool lacks_codes() const noexcept {
    return quantizer->precision != Precision::fp32 && code_blocks[0].rows + code_blocks[1].rows == 0;
  }
  // Returns whether the row has a tombstone. Precondition, not checked: row < rows. Does not throw.
  [[nodiscard]] bool is_removed(std::size_t row) const noexcept {
    return removed != nullptr && ((removed.get()[row / 64] >> (row % 64)) & 1U) != 0;
  }
  // Writes the quantizer->dim floats of a row to `target`: the fp32 vector, or the values that its code stands for
  // when full precision was dropped. Precondition, not checked: row < rows. Does not throw.
  void read_row(std::size_t row, float* target) const noexcept;
};

// Returns the capacity of a full segment in rows of `dim` floats: 64 MiB of fp32 vectors in whole groups of 16, at
// least one group. Precondition, not checked: dim > 0.
[[nodiscard]] std::size_t segment_rows_max(std::size_t dim) noexcept;

// A segment of fp32 vectors and codes that grows at its end up to its capacity. The constructor trains the quantizer
// on the first rows, so pass many of them. One thread appends while others read views; earlier views do not change.
class Segment {
 public:
  // Allocates memory for `capacity` rows of `dim` floats, trains the quantizer on `vectors` and appends them.
  // Preconditions, not checked: 1 to `capacity` rows of finite floats, one id for each. Throws Allocation or
  // std::bad_alloc when memory is exhausted.
  Segment(Executor& executor, Metric metric, Precision precision, std::size_t dim, std::size_t capacity,
          std::span<const float> vectors, std::span<const std::uint64_t> ids);
  ~Segment();
  Segment(Segment&&) noexcept;
  Segment& operator=(Segment&&) noexcept;

  // Appends rows of finite floats, one id for each, and encodes them. Precondition, not checked: rows() + ids.size()
  // <= capacity(). Views made before do not see the rows.
  void append(Executor& executor, std::span<const float> vectors, std::span<const std::uint64_t> ids);
  // Returns a snapshot of the present rows, without tombstones, that later appends do not change. Throws Allocation
  // or std::bad_alloc when memory is exhausted.
  [[nodiscard]] SegmentView view() const;
  [[nodiscard]] std::size_t rows() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  // Returns the bytes allocated for capacity() rows, including rows that are not appended yet.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Storage;
  std::shared_ptr<Storage> storage_;
};

// Copies of rows: their vectors one after the other, and the id of each. Plain data.
struct OwnedRows {
  std::vector<float> vectors;
  std::vector<std::uint64_t> ids;
};

// Returns copies of the rows of `view` that have no tombstone, as SegmentView::read_row reads them, in row order.
// Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] OwnedRows live_rows(const SegmentView& view);

// Returns a new segment with the live rows of `view`, quantized again at `precision`, with room for at least
// `capacity` rows. Precondition, not checked: at least one row has no tombstone. Throws Allocation or std::bad_alloc
// when memory is exhausted.
[[nodiscard]] Segment requantized(Executor& executor, const SegmentView& view, Precision precision,
                                  std::size_t capacity);

}  // namespace vectis::inline v0_1::exact
