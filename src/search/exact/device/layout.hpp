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

// Converts rows and queries of a segment to the layout of devices. fp32 segments, which have no codes, get float32
// codes with a quantizer of their own. Immutable.
class DeviceLayout {
 public:
  // Throws Unsupported for l1, chebyshev and hamming.
  explicit DeviceLayout(const SegmentView& segment);

  [[nodiscard]] const Quantizer& quantizer() const noexcept { return quantizer_; }
  [[nodiscard]] QueryForm form() const noexcept { return form_; }
  [[nodiscard]] DType row_type() const noexcept { return row_type_; }
  [[nodiscard]] DType query_type() const noexcept;
  // Bytes from one row to the next, a multiple of 4.
  [[nodiscard]] std::size_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] std::size_t row_stride() const noexcept { return row_bytes_ / size_of(row_type_); }

  // Packs the first `rows` rows of the segment, or of a later view of it.
  void pack_codes(const SegmentView& segment, std::size_t rows, std::vector<std::byte>& codes,
                  std::vector<float>& terms) const;
  // Terms of queries with their limits. b is larger than on the host, since devices sum in any order and round each
  // step.
  void query_terms(const PreparedQueries& queries, std::vector<float>& terms) const;
  // What scan_bounds adds to an upper bound: relative to the offset, and absolutely.
  [[nodiscard]] double offset_error() const noexcept;
  static constexpr double absolute_error = 0x1p-98;

 private:
  void pack_coded(const SegmentView& segment, std::size_t rows, std::byte* codes, float* terms) const;
  void pack_original(const SegmentView& segment, std::size_t row, std::byte* codes, float* terms) const;

  Quantizer quantizer_;
  QueryForm form_ = QueryForm::f32;
  DType row_type_ = DType::float32;
  std::size_t row_bytes_ = 0;
};

}  // namespace vectis::inline v0_1::exact
