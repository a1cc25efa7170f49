// The layout of a segment on devices: codes row after row, and four terms per row.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "search/exact/prepared_queries.hpp"
#include "search/exact/segment.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::exact {

inline constexpr std::size_t device_terms = 4;  // offset, step, residual, norm; of a query gamma, a, b, limit

// Converts the rows of a segment and its queries to the layout of devices: codes row after row, four terms per row.
// An fp32 segment, which has no codes, gets float32 codes with a quantizer of its own. Immutable.
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

  // Replaces `codes` and `terms` by those of the rows of `segment` from `first_row` on. `segment` must be a view of the
  // segment this layout was made for, and first_row <= segment.rows; not checked. Throws std::bad_alloc when memory is
  // exhausted.
  void pack_codes(const SegmentView& segment, std::size_t first_row, std::vector<std::byte>& codes,
                  std::vector<float>& terms) const;
  // Replaces `terms` by four terms per query: gamma, a, b and limit. b is larger than on the host, because devices
  // sum in any order and round each step. `queries` must be prepared with quantizer() and form(). May throw
  // std::bad_alloc.
  void query_terms(const PreparedQueries& queries, std::vector<float>& terms) const;
  // Returns the error, relative to a row's offset, that the operation scan_bounds adds to upper bounds.
  [[nodiscard]] double offset_error() const noexcept;
  // The absolute error that the operation scan_bounds adds to upper bounds.
  static constexpr double absolute_error = 0x1p-98;

 private:
  void pack_coded(const SegmentView& segment, std::size_t first_row, std::byte* codes, float* terms) const;
  void pack_original(const SegmentView& segment, std::size_t row, std::byte* codes, float* terms) const;

  Quantizer quantizer_;
  QueryForm form_ = QueryForm::f32;
  DType row_type_ = DType::float32;
  std::size_t row_bytes_ = 0;
};

}  // namespace vectis::inline v0_1::exact
