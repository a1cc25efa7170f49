#include "search/exact/encode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "search/exact/wide.hpp"
#include "vectis/base/cpu.hpp"
#include "vectis/base/dtype.hpp"

namespace vectis::inline v0_1::exact {

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();

// Adding and taking this away again rounds numbers up to 2^22 to whole ones, ties to even.
constexpr float whole_rounding = 0x1.8p23F;

constexpr float half_max = 65504;  // beyond it the code is this, and the rest is lost as by any rounding

struct RowSums {
  float squares = 0;  // of the numbers in the frame
  float largest = 0;
  float lost = 0;  // squares of what rounding to codes lost
  float step = 1;
};

// numbers := numbers * scale - centre.
VECTIS_WIDE void into_frame(float* numbers, const float* centre, std::size_t padded, float scale, RowSums& sums) {
  F32x16 squares{};
  F32x16 largest{};
  for (std::size_t i = 0; i < padded; i += lanes) {
    F32x16 value;
    F32x16 middle;
    load_wide(value, numbers + i);
    load_wide(middle, centre + i);
    value = value * scale - middle;
    store_wide(value, numbers + i);
    squares += value * value;
    absolute(value);
    largest = value > largest ? value : largest;
  }
  sums.squares = sum_of_lanes(squares);
  sums.largest = largest_of_lanes(largest);
}

// `row` is the row's first chunk; its chunks are a group's chunk apart.
VECTIS_WIDE void encode_int8(const float* numbers, std::size_t chunks, std::byte* row, RowSums& sums) {
  sums.step = sums.largest / 127.0F;
  const float inverse = sums.largest > 0 ? 127.0F / sums.largest : 0.0F;
  F32x16 lost{};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t i = 0; i < chunk_bytes; i += lanes) {
      F32x16 value;
      load_wide(value, numbers + chunk * chunk_bytes + i);
      const F32x16 whole = (value * inverse + whole_rounding) - whole_rounding;
      const F32x16 rest = value - whole * sums.step;
      lost += rest * rest;
      const I8x16 code = __builtin_convertvector(__builtin_convertvector(whole, I32x16), I8x16);
      store_wide(code, row + chunk * chunk_bytes * group_rows + i);
    }
  }
  sums.lost = sum_of_lanes(lost);
}

// 16-bit floats: every number by itself, to nearest; those below the smallest normal one become zero, as the matrix
// units take them.
template <class Round, class Widen>
VECTIS_WIDE void encode_16_bits(const float* numbers, std::size_t chunks, std::byte* row, RowSums& sums, Round round,
                                Widen widen) {
  F32x16 lost{};
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::size_t i = 0; i < chunk_bytes / 2; i += lanes) {
      const float* const from = numbers + chunk * (chunk_bytes / 2) + i;
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

VECTIS_WIDE void encode_numbers(const Frame& frame, float* numbers, const float* centre, std::size_t padded,
                                float scale, std::byte* row, RowSums& sums) {
  into_frame(numbers, centre, padded, scale, sums);
  if (!(sums.squares <= norm_coded_max * norm_coded_max)) return;
  switch (frame.precision) {
    case Precision::int8:
      return encode_int8(numbers, frame.chunks, row, sums);
    case Precision::bf16:
      return encode_16_bits(numbers, frame.chunks, row, sums, round_to_bfloat16,
                            [](F32x16& to, const void* from) VECTIS_WIDE_LAMBDA { widen_bfloat16(to, from); });
    case Precision::fp16:
      return encode_16_bits(numbers, frame.chunks, row, sums, round_to_float16,
                            [](F32x16& to, const void* from) VECTIS_WIDE_LAMBDA { widen_float16(to, from); });
    case Precision::fp32:
      return;
  }
}

using EncodeNumbers = void (*)(const Frame&, float*, const float*, std::size_t, float, std::byte*, RowSums&);

void encode_scalar(const Frame& frame, float* numbers, const float* centre, std::size_t padded, float scale,
                   std::byte* row, RowSums& sums) {
  encode_numbers(frame, numbers, centre, padded, scale, row, sums);
}

#if defined(__x86_64__)
VECTIS_TARGET_AVX2 void encode_avx2(const Frame& frame, float* numbers, const float* centre, std::size_t padded,
                                    float scale, std::byte* row, RowSums& sums) {
  encode_numbers(frame, numbers, centre, padded, scale, row, sums);
}

VECTIS_TARGET_AVX512 void encode_avx512(const Frame& frame, float* numbers, const float* centre, std::size_t padded,
                                        float scale, std::byte* row, RowSums& sums) {
  encode_numbers(frame, numbers, centre, padded, scale, row, sums);
}
#endif

EncodeNumbers best_encoder() {
#if defined(__x86_64__)
  if (cpu_info().avx512) return encode_avx512;
  if (cpu_info().avx2) return encode_avx2;
#endif
  return encode_scalar;
}

// Divides by the norm, in double precision; zero stays zero.
void normalise(const float* vector, std::size_t dim, double scale, float* numbers) {
  const double norm = norm_of(vector, dim);
  const double factor = norm == 0 ? 0.0 : scale / norm;
  for (std::size_t i = 0; i < dim; ++i) numbers[i] = static_cast<float>(double{vector[i]} * factor);
}

// Terms that keep a row alive under every limit: nothing is known of it.
void set_unknown(const Frame& frame, std::size_t row, const CodeTarget& target) {
  for (std::size_t chunk = 0; chunk < frame.chunks; ++chunk) {
    std::memset(target.codes + (chunk * group_rows + row) * chunk_bytes, 0, chunk_bytes);
  }
  target.step[row] = 0;
  target.offset[row] = 0;
  target.residual[row] = infinite;
  target.norm[row] = infinite;
}

// Terms of a row that is not there.
void set_missing(std::size_t row, const CodeTarget& target) {
  target.step[row] = 0;
  target.offset[row] = infinite;
  target.residual[row] = 0;
  target.norm[row] = 0;
}

void set_terms(const Frame& frame, const RowSums& sums, float scale, std::size_t row, const CodeTarget& target) {
  const float loose = loosening(frame.dim);
  // Squares of numbers below 2^-63 vanish or lose their last bits.
  const float vanished = std::sqrt(static_cast<float>(frame.dim)) * 0x1p-62F;
  const float norm = std::sqrt(sums.squares) * (1.0F + loose) + vanished;
  // Every number was rounded on its way into the frame, relative to itself, and under cosine relative to the unit
  // vector; the rest was computed in float as well.
  const float rounding = 0x1p-21F * norm + (frame.distance == Metric::cosine ? 0x1p-21F * scale : 0.0F);
  target.step[row] = sums.step;
  target.offset[row] = frame.distance == Metric::l2 ? sums.squares * (1.0F - loose) : 0.0F;
  target.residual[row] = std::sqrt(sums.lost) * (1.0F + loose) + rounding + vanished;
  target.norm[row] = norm;
}

}  // namespace

std::size_t code_bytes(Precision precision) noexcept { return precision == Precision::fp32 ? 0 : size_of(precision); }

std::size_t code_chunks(Precision precision, std::size_t dim) noexcept {
  return (dim * code_bytes(precision) + chunk_bytes - 1) / chunk_bytes;
}

float loosening(std::size_t dim) noexcept { return static_cast<float>(dim / lanes + 24) * 0x1p-22F; }

void encode_group(const Frame& frame, const float* vectors, std::size_t rows, const CodeTarget& target) {
  static const EncodeNumbers encode = best_encoder();
  const std::size_t padded = frame.chunks * chunk_bytes / code_bytes(frame.precision);
  const float scale = std::ldexp(1.0F, -frame.exponent);
  std::vector<float> memory(2 * padded);
  float* const numbers = memory.data();
  float* const centre = memory.data() + padded;
  for (std::size_t i = 0; i < frame.dim; ++i) centre[i] = frame.centre[i] * scale;
  for (std::size_t row = 0; row < rows; ++row) {
    const float* const vector = vectors + row * frame.dim;
    const bool cosine = frame.distance == Metric::cosine;
    if (cosine) {
      normalise(vector, frame.dim, double{scale}, numbers);
    } else {
      std::copy_n(vector, frame.dim, numbers);
    }
    std::fill(numbers + frame.dim, numbers + padded, 0.0F);
    RowSums sums;
    encode(frame, numbers, centre, padded, cosine ? 1.0F : scale, target.codes + row * chunk_bytes, sums);
    const bool coded = sums.squares <= norm_coded_max * norm_coded_max && sums.lost <= norm_coded_max;
    coded ? set_terms(frame, sums, scale, row, target) : set_unknown(frame, row, target);
  }
  for (std::size_t row = rows; row < group_rows; ++row) set_missing(row, target);
  *target.group_residual = *std::max_element(target.residual, target.residual + group_rows);
  *target.group_norm = *std::max_element(target.norm, target.norm + group_rows);
}

void decode_row(const Frame& frame, const std::byte* group, std::size_t row, float step, float* target) noexcept {
  const double scale = std::ldexp(1.0, frame.exponent);
  const std::size_t size = code_bytes(frame.precision);
  for (std::size_t i = 0; i < frame.dim; ++i) {
    const std::size_t place = i * size;
    const std::byte* const code = group + (place / chunk_bytes * group_rows + row) * chunk_bytes + place % chunk_bytes;
    double value = 0;
    if (frame.precision == Precision::int8) {
      value = double{step} * static_cast<double>(static_cast<std::int8_t>(*code));
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, code, 2);
      value = frame.precision == Precision::fp16 ? double{to_float(Half{bits})} : double{to_float(Bfloat16{bits})};
    }
    target[i] = static_cast<float>(value * scale + double{frame.centre[i]});
  }
}

}  // namespace vectis::inline v0_1::exact
