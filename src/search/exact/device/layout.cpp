#include "search/exact/device/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "search/exact/quantizer.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr float unknown_term = std::numeric_limits<float>::infinity();
constexpr std::size_t word_bytes = 4;
// The least norm of a row on a device, in units of the quantizer, in which most rows have a norm near 1. Through it the
// bounds of every row have room for the rounding of distances, see write_query_terms().
constexpr float norm_min = 0x1p-6F;
// How far the quantizers of segments that share a layout differ at most: the exponent, and the center in units of the
// layout's quantizer, in which most rows have a norm near 1.
constexpr int exponent_difference_max = 1;
constexpr double center_distance_max = 0.25;

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

bool equal(const Quantizer& a, const Quantizer& b) noexcept {
  return a.exponent == b.exponent && std::equal(a.center.get(), a.center.get() + a.dim, b.center.get());
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
  precision_ = segment.quantizer->precision;
  switch (precision_) {
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

bool DeviceLayout::suits(const SegmentView& segment) const {
  if (segment.quantizer->precision != precision_ || segment.quantizer->metric != quantizer_.metric) return false;
  const Quantizer other = device_quantizer(segment);
  if (std::abs(other.exponent - quantizer_.exponent) > exponent_difference_max) return false;
  double squares = 0;
  for (std::size_t i = 0; i < quantizer_.dim; ++i) {
    const double difference = std::ldexp(double{other.center[i]} - double{quantizer_.center[i]}, -quantizer_.exponent);
    squares += difference * difference;
  }
  return squares <= center_distance_max * center_distance_max;
}

void DeviceLayout::pack_rows(const SegmentView& segment, std::size_t first, std::size_t last, std::byte* codes,
                             float* terms) const {
  std::memset(codes, 0, (last - first) * row_bytes_);
  if (row_type_ != DType::float32) {
    return equal(*segment.quantizer, quantizer_) ? pack_coded(segment, first, last, codes, terms)
                                                 : pack_encoded(segment, first, last, codes, terms);
  }
  std::vector<float> vector(quantizer_.dim);
  for (std::size_t row = first; row < last; ++row) {
    segment.read_row(row, vector.data());
    pack_original(vector.data(), codes + (row - first) * row_bytes_, terms + (row - first) * device_terms);
  }
}

void DeviceLayout::pack_coded(const SegmentView& segment, std::size_t first, std::size_t last, std::byte* codes,
                              float* terms) const {
  for (const CodeBlock& run : segment.code_blocks) {
    const std::size_t end = std::min(last, run.first_row + run.rows);
    for (std::size_t row = std::max(first, run.first_row); row < end; ++row) {
      pack_group(run, row - run.first_row, codes + (row - first) * row_bytes_, terms + (row - first) * device_terms);
    }
  }
}

// Groups of rows, as the encoder makes them, and from there row by row.
void DeviceLayout::pack_encoded(const SegmentView& segment, std::size_t first, std::size_t last, std::byte* codes,
                                float* terms) const {
  GroupEncoder encoder(quantizer_);
  std::vector<std::byte> group_codes(quantizer_.chunks * group_rows * chunk_bytes);
  std::array<float, group_rows> step;
  std::array<float, group_rows> offset;
  std::array<float, group_rows> residual;
  std::array<float, group_rows> norm;
  float group_residual = 0;
  float group_norm = 0;
  const CodeTarget target{.codes = group_codes.data(),
                          .step = step.data(),
                          .offset = offset.data(),
                          .residual = residual.data(),
                          .norm = norm.data(),
                          .group_residual = &group_residual,
                          .group_norm = &group_norm};
  const CodeBlock encoded{.rows = group_rows,
                          .codes = group_codes.data(),
                          .step = step.data(),
                          .offset = offset.data(),
                          .residual = residual.data(),
                          .norm = norm.data()};
  std::vector<float> vectors(group_rows * quantizer_.dim);
  for (std::size_t begin = first; begin < last; begin += group_rows) {
    const std::size_t count = std::min(group_rows, last - begin);
    std::array<const float*, group_rows> rows;
    for (std::size_t i = 0; i < count; ++i) {
      segment.read_row(begin + i, vectors.data() + i * quantizer_.dim);
      rows[i] = vectors.data() + i * quantizer_.dim;
    }
    encoder.encode(std::span(rows).first(count), target);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = begin + i - first;
      pack_group(encoded, i, codes + row * row_bytes_, terms + row * device_terms);
    }
  }
}

// Row `in_group` of the groups at `block`.
void DeviceLayout::pack_group(const CodeBlock& block, std::size_t in_group, std::byte* codes, float* terms) const {
  const std::byte* const group = block.codes + in_group / group_rows * quantizer_.chunks * group_rows * chunk_bytes;
  for (std::size_t place = 0; place < row_bytes_; place += chunk_bytes) {
    const std::byte* const from = group + (place / chunk_bytes * group_rows + in_group % group_rows) * chunk_bytes;
    std::memcpy(codes + place, from, std::min(chunk_bytes, row_bytes_ - place));
  }
  terms[0] = block.offset[in_group];
  terms[1] = block.step[in_group];
  terms[2] = block.residual[in_group];
  terms[3] = std::max(block.norm[in_group], norm_min);
}

// In double precision; 2^-45 bounds its rounding.
void DeviceLayout::pack_original(const float* vector, std::byte* codes, float* terms) const {
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
void DeviceLayout::write_query_terms(const PreparedQueries& queries, float* terms) const noexcept {
  const double any_order = form_ == QueryForm::f32 ? static_cast<double>(quantizer_.dim + 16) * 0x1p-23 : 0.0;
  for (std::size_t i = 0; i < queries.count; ++i) {
    float* const to = terms + i * device_terms;
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
