// Rows whose codes are the truth: what compact() leaves of a segment, and what a file holds of it.
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

// The layout of SegmentView, all in one piece and ready to be filled; immutable once a view of it is given out.
class PackedSegment {
 public:
  PackedSegment(Metric metric, Precision precision, std::size_t dim, std::size_t rows);

  // The view keeps `segment` alive.
  [[nodiscard]] static SegmentView view(std::shared_ptr<const PackedSegment> segment);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t bytes() const noexcept;

  Quantizer quantizer;
  std::vector<std::uint64_t> ids;
  // Of each row; then terms up to a whole group that no limit lets through.
  std::vector<float> step;
  std::vector<float> offset;
  std::vector<float> residual;
  std::vector<float> norm;

  // All codes in the layout of SegmentView, and what one row has of them: quantizer.chunks pieces of chunk_bytes.
  [[nodiscard]] std::span<std::byte> codes() noexcept { return {codes_.data(), codes_bytes()}; }
  [[nodiscard]] std::span<const std::byte> codes() const noexcept { return {codes_.data(), codes_bytes()}; }
  [[nodiscard]] std::byte* chunk(std::size_t row, std::size_t chunk) noexcept;

  // The largest of each group, from the rows' own terms; to be called when those are filled.
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

// The rows of a view that are not removed, codes and terms as they are: for views without originals.
[[nodiscard]] std::shared_ptr<PackedSegment> packed(const SegmentView& view);

// Makes what codes and steps stand for the truth: offset, residual and norm of every row become those of that truth,
// and so the bound holds wherever the codes came from. False when some row is too far out for its code to stand for it;
// then the segment is of no use.
[[nodiscard]] bool recompute_bounds(Executor& executor, const std::shared_ptr<PackedSegment>& segment);

}  // namespace vectis::inline v0_1::exact
