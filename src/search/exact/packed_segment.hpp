// Segments without fp32 vectors: what drop_full_precision() leaves, and what blocks of codes in files hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::exact {

// A segment of codes without fp32 vectors, in the layout of SegmentView. The caller fills ids, terms and codes and
// then calls close(). Must not change once a search reads a view of it.
class PackedSegment {
 public:
  // Allocates memory for `rows` rows of `dim` coordinates; ids, terms and codes are zero. `precision` must not be
  // fp32. Throws Allocation or std::bad_alloc when memory is exhausted.
  PackedSegment(Metric metric, Precision precision, std::size_t dim, std::size_t rows);

  // Returns a view of all rows that keeps `segment` alive. Precondition: `segment` is not null; searches also need
  // that close() was called.
  [[nodiscard]] static SegmentView view(std::shared_ptr<const PackedSegment> segment);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

  Quantizer quantizer;
  std::vector<std::uint64_t> ids;
  // The terms of the bound, one float of each kind per row, padded to whole groups of 16 with terms that pass no
  // limit.
  std::vector<float> step;
  std::vector<float> offset;
  std::vector<float> residual;
  std::vector<float> norm;

  // Returns the codes of all rows in the layout of SegmentView, for the caller to fill before close().
  [[nodiscard]] std::span<std::byte> codes() noexcept { return {codes_.data(), codes_bytes()}; }
  [[nodiscard]] std::span<const std::byte> codes() const noexcept { return {codes_.data(), codes_bytes()}; }
  // Returns the 64 bytes of one chunk of a row's codes. Preconditions, not checked: row < rows() and chunk <
  // quantizer.chunks.
  [[nodiscard]] std::byte* chunk(std::size_t row, std::size_t chunk) noexcept;

  // Computes the largest residual and norm of each group of rows, which scans need. Precondition: the terms of all
  // rows are filled. Does not throw.
  void close();

 private:
  [[nodiscard]] std::size_t groups() const noexcept { return (rows_ + group_rows - 1) / group_rows; }
  [[nodiscard]] std::size_t codes_bytes() const noexcept {
    return groups() * group_rows * quantizer.chunks * chunk_bytes;
  }

  std::size_t rows_;
  Pages codes_;
  std::vector<float> group_residual_;
  std::vector<float> group_norm_;
};

// Returns a copy of the rows of a view that have no tombstone, with unchanged codes and terms and without fp32
// vectors. Precondition: the view has codes (not fp32). Throws Allocation or std::bad_alloc when memory is exhausted.
[[nodiscard]] std::shared_ptr<PackedSegment> packed(const SegmentView& view);

// Recomputes offset, residual and norm of every row from the values that its codes stand for, so that the bound holds
// for those values wherever the codes came from, and calls close(). Precondition: codes, steps and ids are filled.
// Returns false when a row is too large to be coded; then the segment must not be used.
[[nodiscard]] bool recompute_bounds(Executor& executor, const std::shared_ptr<PackedSegment>& segment);

}  // namespace vectis::inline v0_1::exact
