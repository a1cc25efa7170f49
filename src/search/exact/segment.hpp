// Rows of a corpus that share one centre and one scale, kept twice: as the user gave them, and as codes to scan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// Codes lie in groups of 16 rows, a group in chunks of 64 bytes: chunk c of row r of group g is at
// ((g * chunks + c) * 16 + r) * 64. So a group's chunk is one tile of AMX, and every way to scan reads memory in order.
// Tails of the last chunk are zero.
inline constexpr std::size_t group_rows = 16;
inline constexpr std::size_t chunk_bytes = 64;

// Where a segment's codes are relative to: they stand for (x - centre) * 2^-exponent, with x divided by its norm under
// cosine. docs/exact-search.md has the bound that follows. Immutable.
struct Frame {
  Metric distance = Metric::l2;
  Precision precision = Precision::int8;  // of the codes; fp32: there are none, originals are scanned
  std::size_t dim = 0;
  std::size_t chunks = 0;           // of a row
  std::unique_ptr<float[]> centre;  // dim numbers
  int exponent = 0;
};

// Consecutive rows from the first of a group on.
struct CodeRun {
  std::size_t first_row = 0;  // in the segment
  std::size_t rows = 0;       // 0: nothing else is valid
  const std::byte* codes = nullptr;
  const float* step = nullptr;            // int8: what a unit of the code stands for; else 1
  const float* offset = nullptr;          // the lowered square of the norm under Euclidean, else 0
  const float* residual = nullptr;        // norm of what rounding to codes lost, rounded up; infinite: not coded
  const float* norm = nullptr;            // rounded up
  const float* group_residual = nullptr;  // the largest of each group
  const float* group_norm = nullptr;
};

// A segment as it was at one moment; it keeps its memory alive. Immutable, cheap to copy.
struct SegmentView {
  std::shared_ptr<const void> storage;
  const Frame* frame = nullptr;
  std::size_t rows = 0;
  std::array<CodeRun, 2> runs;                     // whole groups; the last one when it is incomplete. Empty for fp32
  const float* originals = nullptr;                // rows * dim; null: dropped, the codes are the truth
  const std::uint64_t* ids = nullptr;              // rows
  std::shared_ptr<const std::uint64_t[]> removed;  // a bit for each row, lowest first; null: none is

  [[nodiscard]] bool is_removed(std::size_t row) const noexcept {
    return removed != nullptr && ((removed.get()[row / 64] >> (row % 64)) & 1U) != 0;
  }
  // Writes the row's dim numbers: the original, or what its code stands for.
  void read_row(std::size_t row, float* target) const noexcept;
};

// How many rows a full segment has: 64 MiB of originals, a whole number of groups, at least one.
[[nodiscard]] std::size_t segment_rows_max(std::size_t dim) noexcept;

// A segment that grows at its end, up to its capacity. Centre and scale come from the rows it is given first, so give
// it many at first. One thread appends; views taken before stay as they were.
class Segment {
 public:
  // `vectors` (finite) and `ids` are its first rows, at least one, at most `capacity`.
  Segment(Executor& executor, Metric distance, Precision precision, std::size_t dim, std::size_t capacity,
          std::span<const float> vectors, std::span<const std::uint64_t> ids);
  ~Segment();
  Segment(Segment&&) noexcept;
  Segment& operator=(Segment&&) noexcept;

  void append(Executor& executor, std::span<const float> vectors, std::span<const std::uint64_t> ids);
  [[nodiscard]] SegmentView view() const;
  [[nodiscard]] std::size_t rows() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;
  // Of all memory it holds, as if it were full.
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

// The rows that are not removed: originals, or what the codes stand for.
[[nodiscard]] OwnedRows live_rows(const SegmentView& view);

// The rows of `view` that are not removed, coded anew at `precision`. A view without originals gives what its codes
// stand for.
[[nodiscard]] Segment recoded(Executor& executor, const SegmentView& view, Precision precision, std::size_t capacity);

}  // namespace vectis::inline v0_1::exact
