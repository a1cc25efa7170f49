// The layout of segments on devices: codes row after row, and four terms per row.
#pragma once

#include <cstddef>
#include <memory>

#include "search/exact/prepared_queries.hpp"
#include "search/exact/segment.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::exact {

inline constexpr std::size_t device_terms = 4;  // offset, step, residual, norm; of a query gamma, a, b, limit
inline constexpr std::size_t device_term_bytes = device_terms * sizeof(float);

// Converts the rows of segments and their queries to the layout of devices: codes row after row, four terms per row.
// fp32 segments, which have no codes, get float32 codes with a quantizer of their own. Segments that are centered and
// scaled alike share a layout, so that one series of launches scans them all. Immutable.
class DeviceLayout {
 public:
  // Chooses element types and row size for a segment, which must have at least one row. Throws Unsupported when its
  // metric is l1, chebyshev or hamming.
  explicit DeviceLayout(const SegmentView& segment);

  [[nodiscard]] const Quantizer& quantizer() const noexcept { return quantizer_; }
  [[nodiscard]] QueryForm form() const noexcept { return form_; }
  [[nodiscard]] DType row_type() const noexcept { return row_type_; }
  [[nodiscard]] DType query_type() const noexcept;
  // Returns the bytes from one row of codes to the next, a multiple of 4.
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] std::size_t row_stride() const noexcept { return row_bytes_ / size_of(row_type_); }

  // Returns whether rows of `segment` may have this layout: of the same precision, and centered and scaled so nearly
  // alike that their bounds become no more than a few percent looser. Throws std::bad_alloc.
  [[nodiscard]] bool suits(const SegmentView& segment) const;
  // Writes codes and terms of the rows [first, last) of `segment`: encoded anew unless the segment has codes of the
  // same quantizer. Preconditions, not checked: suits(segment), room for last - first rows. Throws std::bad_alloc.
  void pack_rows(const SegmentView& segment, std::size_t first, std::size_t last, std::byte* codes, float* terms) const;
  // Writes four terms per query: gamma, a, b and limit. b is larger than on the host, because devices sum in any order
  // and round each step. `queries` must be prepared with quantizer() and form(). Does not throw.
  void write_query_terms(const PreparedQueries& queries, float* terms) const noexcept;
  // Returns the error, relative to a row's offset, that the operation scan_bounds adds to upper bounds.
  [[nodiscard]] double offset_error() const noexcept;
  // The absolute error that the operation scan_bounds adds to upper bounds.
  static constexpr double absolute_error = 0x1p-98;

 private:
  void pack_coded(const SegmentView& segment, std::size_t first, std::size_t last, std::byte* codes,
                  float* terms) const;
  void pack_encoded(const SegmentView& segment, std::size_t first, std::size_t last, std::byte* codes,
                    float* terms) const;
  void pack_group(const CodeBlock& group, std::size_t in_group, std::byte* codes, float* terms) const;
  void pack_original(const float* vector, std::byte* codes, float* terms) const;

  Quantizer quantizer_;
  Precision precision_ = Precision::fp32;  // of the segments
  QueryForm form_ = QueryForm::f32;
  DType row_type_ = DType::float32;
  std::size_t row_bytes_ = 0;
};

}  // namespace vectis::inline v0_1::exact
