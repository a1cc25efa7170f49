#include "search/exact/device/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "search/exact/quantizer.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr float unknown_term = std::numeric_limits<float>::infinity();
constexpr std::size_t word_bytes = 4;
// The least norm of a row on a device, in units of the quantizer, in which most rows have a norm near 1. Through it the
// bounds of every row have room for the rounding of distances, see query_terms().
constexpr float norm_min = 0x1p-6F;

Quantizer copy_of(const Quantizer& quantizer) {
  Quantizer copy{.metric = quantizer.metric,
                 .precision = quantizer.precision,
                 .dim = quantizer.dim,
                 .chunks = quantizer.chunks,
                 .center = std::make_unique<float[]>(quantizer.dim),
                 .exponent = quantizer.exponent};
  std::copy_n(quantizer.center.get(), quantizer.dim, copy.center.get());
  return copy;
}

// fp16 selects a quantizer with codes; the device stores them as float32.
Quantizer device_quantizer(const SegmentView& segment) {
  const Quantizer& quantizer = *segment.quantizer;
  if (quantizer.precision != Precision::fp32) return copy_of(quantizer);
  return train_quantizer(quantizer.metric, Precision::fp16, quantizer.dim,
                         {segment.originals, segment.rows * quantizer.dim});
}

bool is_product(Metric metric) noexcept {
  return is_euclidean(metric) || metric == Metric::inner_product || metric == Metric::cosine;
}

}  // namespace

DeviceLayout::DeviceLayout(const SegmentView& segment) {
  if (!is_product(segment.quantizer->metric)) {
    throw Error(ErrorCode::unsupported, "search",
                fmt::format("devices scan l2, l2_squared, cosine and inner_product, not {}; use 'flat'",
                            name(segment.quantizer->metric)));
  }
  quantizer_ = device_quantizer(segment);
  switch (segment.quantizer->precision) {
    case Precision::int8:
      form_ = QueryForm::int8;
      row_type_ = DType::int8;
      break;
    case Precision::bf16:
      form_ = QueryForm::bf16;
      row_type_ = DType::bfloat16;
      break;
    case Precision::fp16:
      row_type_ = DType::float16;
      break;
    case Precision::fp32:
      row_type_ = DType::float32;
      break;
  }
  row_bytes_ = (quantizer_.dim * size_of(row_type_) + word_bytes - 1) / word_bytes * word_bytes;
}

DType DeviceLayout::query_type() const noexcept {
  if (form_ == QueryForm::int8) return DType::int8;
  return form_ == QueryForm::bf16 ? DType::bfloat16 : DType::float32;
}

void DeviceLayout::pack_codes(const SegmentView& segment, std::size_t first_row, std::vector<std::byte>& codes,
                              std::vector<float>& terms) const {
  const std::size_t rows = segment.rows - first_row;
  codes.assign(rows * row_bytes_, std::byte{});
  terms.resize(rows * device_terms);
  if (row_type_ != DType::float32) return pack_coded(segment, first_row, codes.data(), terms.data());
  for (std::size_t row = 0; row < rows; ++row) {
    pack_original(segment, first_row + row, codes.data() + row * row_bytes_, terms.data() + row * device_terms);
  }
}

void DeviceLayout::pack_coded(const SegmentView& segment, std::size_t first_row, std::byte* codes, float* terms) const {
  for (const CodeBlock& run : segment.code_blocks) {
    for (std::size_t i = first_row - std::min(first_row, run.first_row); i < run.rows; ++i) {
      const std::size_t row = run.first_row + i - first_row;
      const std::byte* const group = run.codes + i / group_rows * quantizer_.chunks * group_rows * chunk_bytes;
      for (std::size_t place = 0; place < row_bytes_; place += chunk_bytes) {
        const std::byte* const from = group + (place / chunk_bytes * group_rows + i % group_rows) * chunk_bytes;
        std::memcpy(codes + row * row_bytes_ + place, from, std::min(chunk_bytes, row_bytes_ - place));
      }
      float* const to = terms + row * device_terms;
      to[0] = run.offset[i];
      to[1] = run.step[i];
      to[2] = run.residual[i];
      to[3] = std::max(run.norm[i], norm_min);
    }
  }
}

// In double precision; 2^-45 bounds its rounding.
void DeviceLayout::pack_original(const SegmentView& segment, std::size_t row, std::byte* codes, float* terms) const {
  const float* const vector = segment.originals + row * quantizer_.dim;
  const bool cosine = quantizer_.metric == Metric::cosine;
  const double scale = std::ldexp(1.0, -quantizer_.exponent);
  const double length = cosine ? l2_norm(vector, quantizer_.dim) : 1.0;
  const double divisor = length == 0 ? 1.0 : length;
  double squares = 0;
  double lost = 0;
  for (std::size_t i = 0; i < quantizer_.dim; ++i) {
    const double number = (double{vector[i]} / divisor - double{quantizer_.center[i]}) * scale;
    auto code = static_cast<float>(number);
    if (std::abs(code) < std::numeric_limits<float>::min()) code = 0;  // devices may flush subnormal values
    std::memcpy(codes + i * sizeof(float), &code, sizeof(float));
    squares += number * number;
    lost += (number - double{code}) * (number - double{code});
  }
  const double norm = std::sqrt(squares);
  if (!(norm <= double{norm_coded_max})) {
    std::memset(codes, 0, row_bytes_);
    const float nothing_known[device_terms] = {0, 0, unknown_term, unknown_term};
    std::copy_n(nothing_known, device_terms, terms);
    return;
  }
  const double rounding = 0x1p-45 * (norm + (cosine ? scale : 0.0)) + 0x1p-120;
  const bool euclidean = is_euclidean(quantizer_.metric);
  terms[0] = euclidean ? static_cast<float>(squares * (1 - double{loosening(quantizer_.dim)})) : 0.0F;
  terms[1] = 1;
  terms[2] = rounded_up(std::sqrt(lost) * (1 + 0x1p-20) + rounding);
  terms[3] = std::max(rounded_up(norm * (1 + 0x1p-20) + 0x1p-120), norm_min);
}

// Rows are ordered by their distance in double precision and then by id. Distances of rows that are far smaller than
// the query are equal after rounding, though their keys differ, so that a device must not drop the larger key.
void DeviceLayout::query_terms(const PreparedQueries& queries, std::vector<float>& terms) const {
  const double any_order = form_ == QueryForm::f32 ? static_cast<double>(quantizer_.dim + 16) * 0x1p-23 : 0.0;
  terms.resize(queries.count * device_terms);
  for (std::size_t i = 0; i < queries.count; ++i) {
    float* const to = terms.data() + i * device_terms;
    to[0] = queries.gamma[i];
    to[1] = queries.a[i];
    const double distance_error =
        (queries.rank_error[i] + std::abs(queries.shift[i]) * queries.rounding) / queries.unit[i];
    to[2] = rounded_up(double{queries.b[i]} + double{queries.a[i]} * (0x1p-21 + any_order) +
                       4 * distance_error / double{norm_min});
    to[3] = queries.limit[i];
  }
}

double DeviceLayout::offset_error() const noexcept { return 3 * double{loosening(quantizer_.dim)}; }

}  // namespace vectis::inline v0_1::exact
