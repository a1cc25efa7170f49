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

// Codes and terms in the layout of SegmentView, to be filled by the caller. Immutable once a view of it exists.
class PackedSegment {
 public:
  PackedSegment(Metric metric, Precision precision, std::size_t dim, std::size_t rows);

  // The view keeps `segment` alive.
  [[nodiscard]] static SegmentView view(std::shared_ptr<const PackedSegment> segment);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

  Quantizer quantizer;
  std::vector<std::uint64_t> ids;
  // A term of each row, padded to whole groups with terms that pass no limit.
  std::vector<float> step;
  std::vector<float> offset;
  std::vector<float> residual;
  std::vector<float> norm;

  // All codes in the layout of SegmentView, and one of the quantizer.chunks chunks of a row.
  [[nodiscard]] std::span<std::byte> codes() noexcept { return {codes_.data(), codes_bytes()}; }
  [[nodiscard]] std::span<const std::byte> codes() const noexcept { return {codes_.data(), codes_bytes()}; }
  [[nodiscard]] std::byte* chunk(std::size_t row, std::size_t chunk) noexcept;

  // Computes the maxima of the groups. Call it when the terms of all rows are filled.
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

// A copy of the live rows of a view, codes and terms unchanged.
[[nodiscard]] std::shared_ptr<PackedSegment> packed(const SegmentView& view);

// Makes the values that the codes stand for the vectors of the segment: computes offset, residual and norm of every row
// from them, so that the bound holds wherever the codes came from. Returns false when a row is too large to be coded;
// then the segment must not be used.
[[nodiscard]] bool recompute_bounds(Executor& executor, const std::shared_ptr<PackedSegment>& segment);

}  // namespace vectis::inline v0_1::exact
