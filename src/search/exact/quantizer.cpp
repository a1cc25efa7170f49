#include "search/exact/quantizer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "search/common/simd.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::exact {

namespace {

using namespace simd;

constexpr float infinite = std::numeric_limits<float>::infinity();

// Adding and subtracting this rounds values up to 2^22 to integers, ties to even.
constexpr float whole_rounding = 0x1.8p23F;

constexpr float half_max = 65504;  // larger values are clamped; the difference counts as quantization error

struct RowSums {
  float squares = 0;  // in units of the quantizer
  float largest = 0;
  float lost = 0;  // squared quantization error
  float step = 1;
};

using F64x16 = double __attribute__((vector_size(128)));

// values := vector * scale - center, for `dim` floats rounded up to whole lanes.
VECTIS_WIDE void into_frame(const float* vector, std::size_t dim, const float* center, float scale, float* values,
                            RowSums& sums) {
  F32x16 squares{};
  F32x16 largest{};
  for (std::size_t i = 0; i < dim; i += lanes) {
    F32x16 value;
    F32x16 middle;
    load_part(value, vector, i, dim);
    load_wide(middle, center + i);
    value = value * scale - middle;
    store_wide(value, values + i);
    squares += value * value;
    absolute(value);
    largest = value > largest ? value : largest;
  }
  sums.squares = sum_of_lanes(squares);
  sums.largest = largest_of_lanes(largest);
}

// values := vector * scale / its norm, in double precision; a zero vector stays zero.
VECTIS_WIDE void normalize(const float* vector, std::size_t dim, double scale, float* values) {
  F64x16 squares{};
  for (std::size_t i = 0; i < dim; i += lanes) {
    F32x16 part;
    load_part(part, vector, i, dim);
    const F64x16 value = __builtin_convertvector(part, F64x16);
    squares += value * value;
  }
  double sum = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) sum += squares[lane];
  const double norm = std::sqrt(sum);
  const double factor = norm == 0 ? 0.0 : scale / norm;
  for (std::size_t i = 0; i < dim; i += lanes) {
    F32x16 part;
    load_part(part, vector, i, dim);
    const F64x16 value = __builtin_convertvector(part, F64x16) * factor;
    store_wide(__builtin_convertvector(value, F32x16), values + i);
  }
}

// `row` is the first chunk of the row; chunks of a row are one chunk of the group apart.
VECTIS_WIDE void encode_int8(const float* values, std::size_t chunks, std::byte* row, RowSums& sums) {
  sums.step = sums.largest / 127.0F;
  const float inverse = sums.largest > 0 ? 127.0F / sums.largest : 0.0F;
  F32x16 lost{};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t i = 0; i < chunk_bytes; i += lanes) {
      F32x16 value;
      load_wide(value, values + chunk * chunk_bytes + i);
      const F32x16 whole = (value * inverse + whole_rounding) - whole_rounding;
      const F32x16 rest = value - whole * sums.step;
      lost += rest * rest;
      const I8x16 code = __builtin_convertvector(__builtin_convertvector(whole, I32x16), I8x16);
      store_wide(code, row + chunk * chunk_bytes * group_rows + i);
    }
  }
  sums.lost = sum_of_lanes(lost);
}

// 16-bit floats: rounded to nearest; subnormal values become zero, as AMX takes them.
template <class Round, class Widen>
VECTIS_WIDE void encode_16_bits(const float* values, std::size_t chunks, std::byte* row, RowSums& sums, Round round,
                                Widen widen) {
  F32x16 lost{};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t i = 0; i < chunk_bytes / 2; i += lanes) {
      const float* const from = values + chunk * (chunk_bytes / 2) + i;
      std::byte* const to = row + chunk * chunk_bytes * group_rows + i * 2;
      round(from, to);
      F32x16 value;
      F32x16 rest;
      load_wide(value, from);
      widen(rest, to);
      rest = value - rest;
      lost += rest * rest;
    }
  }
  sums.lost = sum_of_lanes(lost);
}

VECTIS_WIDE void round_to_bfloat16(const float* from, std::byte* to) {
  U32x16 bits;
  load_wide(bits, from);
  const U32x16 rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
  const U32x16 kept = (bits & 0x7F800000U) != 0 ? rounded : U32x16{};
  const U16x16 codes = __builtin_convertvector(kept, U16x16);
  store_wide(codes, to);
}

VECTIS_WIDE void round_to_float16(const float* from, std::byte* to) {
  for (std::size_t i = 0; i < lanes; ++i) {
    const Half half = to_half(std::clamp(from[i], -half_max, half_max));
    std::memcpy(to + i * 2, &half.bits, 2);
  }
}

VECTIS_WIDE void encode_numbers(const Quantizer& quantizer, const float* vector, const float* center, float scale,
                                float* values, std::byte* row, RowSums& sums) {
  if (quantizer.metric == Metric::cosine) {
    normalize(vector, quantizer.dim, double{scale}, values);
    into_frame(values, quantizer.dim, center, 1.0F, values, sums);
  } else {
    into_frame(vector, quantizer.dim, center, scale, values, sums);
  }
  if (!(sums.squares <= norm_coded_max * norm_coded_max)) return;
  switch (quantizer.precision) {
    case Precision::int8:
      return encode_int8(values, quantizer.chunks, row, sums);
    case Precision::bf16:
      return encode_16_bits(values, quantizer.chunks, row, sums, round_to_bfloat16,
                            [](F32x16& to, const void* from) VECTIS_WIDE_LAMBDA { widen_bfloat16(to, from); });
    case Precision::fp16:
      return encode_16_bits(values, quantizer.chunks, row, sums, round_to_float16,
                            [](F32x16& to, const void* from) VECTIS_WIDE_LAMBDA { widen_float16(to, from); });
    case Precision::fp32:
      return;
  }
}

void encode_scalar(const Quantizer& quantizer, const float* vector, const float* center, float scale, float* values,
                   std::byte* row, RowSums& sums) {
  encode_numbers(quantizer, vector, center, scale, values, row, sums);
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX2 void encode_avx2(const Quantizer& quantizer, const float* vector, const float* center, float scale,
                                    float* values, std::byte* row, RowSums& sums) {
  encode_numbers(quantizer, vector, center, scale, values, row, sums);
}

VECTIS_TARGET_AVX512 void encode_avx512(const Quantizer& quantizer, const float* vector, const float* center,
                                        float scale, float* values, std::byte* row, RowSums& sums) {
  encode_numbers(quantizer, vector, center, scale, values, row, sums);
}
#endif

using EncodeNumbers = decltype(&encode_scalar);

EncodeNumbers best_encoder() {
#if defined(__x86_64__)
  if (cpu_info().avx512) return encode_avx512;
  if (cpu_info().avx2) return encode_avx2;
#endif
  return encode_scalar;
}

// Terms with which a row passes every limit.
void set_unknown(const Quantizer& quantizer, std::size_t row, const CodeTarget& target) {
  for (std::size_t chunk = 0; chunk < quantizer.chunks; ++chunk) {
    std::memset(target.codes + (chunk * group_rows + row) * chunk_bytes, 0, chunk_bytes);
  }
  target.step[row] = 0;
  target.offset[row] = 0;
  target.residual[row] = infinite;
  target.norm[row] = infinite;
}

// Terms of a missing row, which passes no limit.
void set_missing(std::size_t row, const CodeTarget& target) {
  target.step[row] = 0;
  target.offset[row] = infinite;
  target.residual[row] = 0;
  target.norm[row] = 0;
}

void set_terms(const Quantizer& quantizer, const RowSums& sums, float scale, std::size_t row,
               const CodeTarget& target) {
  const float loose = loosening(quantizer.dim);
  // Squares of values below 2^-63 underflow.
  const float vanished = std::sqrt(static_cast<float>(quantizer.dim)) * 0x1p-62F;
  const float norm = std::sqrt(sums.squares) * (1.0F + loose) + vanished;
  // Rounding of the transformed values, relative to each value and under cosine to the unit vector, and of these terms.
  const float rounding = 0x1p-21F * norm + (quantizer.metric == Metric::cosine ? 0x1p-21F * scale : 0.0F);
  target.step[row] = sums.step;
  target.offset[row] = is_euclidean(quantizer.metric) ? sums.squares * (1.0F - loose) : 0.0F;
  target.residual[row] = std::sqrt(sums.lost) * (1.0F + loose) + rounding + vanished;
  target.norm[row] = norm;
}

constexpr std::size_t sample_max = 255;
constexpr int exponent_min = -100;
constexpr int exponent_max = 126;

// Evenly spaced rows, normalized under cosine.
std::vector<float> sampled_rows(Metric metric, std::size_t dim, std::span<const float> vectors) {
  const std::size_t rows = vectors.size() / dim;
  const std::size_t count = std::min(rows, sample_max);
  std::vector<float> sample(count * dim);
  for (std::size_t i = 0; i < count; ++i) {
    const float* const row = vectors.data() + (i * rows / count) * dim;
    const double norm = metric == Metric::cosine ? l2_norm(row, dim) : 1.0;
    for (std::size_t j = 0; j < dim; ++j) {
      sample[i * dim + j] = norm == 0 ? 0.0F : static_cast<float>(double{row[j]} / norm);
    }
  }
  return sample;
}

float median_of(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void median_center(const std::vector<float>& sample, std::size_t dim, float* center) {
  std::vector<float> column(sample.size() / dim);
  for (std::size_t j = 0; j < dim; ++j) {
    for (std::size_t i = 0; i < column.size(); ++i) column[i] = sample[i * dim + j];
    center[j] = median_of(column);
  }
}

int choose_exponent(const std::vector<float>& sample, std::size_t dim, const float* center) {
  std::vector<double> norms(sample.size() / dim);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < dim; ++j) {
      const double difference = double{sample[i * dim + j]} - double{center[j]};
      sum += difference * difference;
    }
    norms[i] = std::sqrt(sum);
  }
  const auto middle = norms.begin() + static_cast<std::ptrdiff_t>(norms.size() / 2);
  std::nth_element(norms.begin(), middle, norms.end());
  return *middle == 0 ? 0 : std::clamp(std::ilogb(*middle) + 1, exponent_min, exponent_max);
}

}  // namespace

std::size_t code_bytes(Precision precision) noexcept { return precision == Precision::fp32 ? 0 : size_of(precision); }

std::size_t code_chunks(Precision precision, std::size_t dim) noexcept {
  return (dim * code_bytes(precision) + chunk_bytes - 1) / chunk_bytes;
}

float loosening(std::size_t dim) noexcept {
  const std::size_t terms = dim / lanes + 24;
  return static_cast<float>(terms) * 0x1p-22F;
}

GroupEncoder::GroupEncoder(const Quantizer& quantizer)
    : quantizer_(quantizer),
      scale_(std::ldexp(1.0F, -quantizer.exponent)),
      center_(quantizer.chunks * chunk_bytes / code_bytes(quantizer.precision)),
      values_(center_.size()) {
  for (std::size_t i = 0; i < quantizer.dim; ++i) center_[i] = quantizer.center[i] * scale_;
}

void GroupEncoder::encode(std::span<const float* const> rows, const CodeTarget& target) {
  static const EncodeNumbers encode = best_encoder();
  for (std::size_t row = 0; row < group_rows; ++row) {
    if (row >= rows.size() || rows[row] == nullptr) {
      set_missing(row, target);
      continue;
    }
    RowSums sums;
    encode(quantizer_, rows[row], center_.data(), scale_, values_.data(), target.codes + row * chunk_bytes, sums);
    const bool coded = sums.squares <= norm_coded_max * norm_coded_max && sums.lost <= norm_coded_max;
    coded ? set_terms(quantizer_, sums, scale_, row, target) : set_unknown(quantizer_, row, target);
  }
  *target.group_residual = *std::max_element(target.residual, target.residual + group_rows);
  *target.group_norm = *std::max_element(target.norm, target.norm + group_rows);
}

void decode_row(const Quantizer& quantizer, const std::byte* group, std::size_t row, float step,
                float* target) noexcept {
  const double scale = std::ldexp(1.0, quantizer.exponent);
  const std::size_t size = code_bytes(quantizer.precision);
  for (std::size_t i = 0; i < quantizer.dim; ++i) {
    const std::size_t place = i * size;
    const std::byte* const code = group + (place / chunk_bytes * group_rows + row) * chunk_bytes + place % chunk_bytes;
    double value = 0;
    if (quantizer.precision == Precision::int8) {
      value = double{step} * static_cast<double>(static_cast<std::int8_t>(*code));
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, code, 2);
      value = quantizer.precision == Precision::fp16 ? double{to_float(Half{bits})} : double{to_float(Bfloat16{bits})};
    }
    target[i] = static_cast<float>(value * scale + double{quantizer.center[i]});
  }
}

double l2_norm(const float* vector, std::size_t dim) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < dim; ++i) sum += double{vector[i]} * double{vector[i]};
  return std::sqrt(sum);
}

Quantizer train_quantizer(Metric metric, Precision precision, std::size_t dim, std::span<const float> vectors) {
  Quantizer quantizer{.metric = metric,
                      .precision = precision,
                      .dim = dim,
                      .chunks = code_chunks(precision, dim),
                      .center = std::make_unique<float[]>(dim)};
  if (precision == Precision::fp32) return quantizer;
  const std::vector<float> sample = sampled_rows(metric, dim, vectors);
  median_center(sample, dim, quantizer.center.get());
  quantizer.exponent = choose_exponent(sample, dim, quantizer.center.get());
  return quantizer;
}

}  // namespace vectis::inline v0_1::exact
