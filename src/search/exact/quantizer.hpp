// The quantizer of a segment: fp32 rows to int8, bf16 or fp16 codes, and the terms of the bound (docs/exact-search.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "vectis/base/dtype.hpp"
#include "vectis/search/metric.hpp"

namespace vectis::inline v0_1::exact {

// Codes lie in groups of 16 rows, a group in chunks of 64 bytes: chunk c of row r of group g is at
// ((g * chunks + c) * 16 + r) * 64. So a group's chunk is one AMX tile, and every kernel reads memory in order. Tails
// of the last chunk are zero.
inline constexpr std::size_t group_rows = 16;
inline constexpr std::size_t chunk_bytes = 64;

// Codes stand for (x - center) * 2^-exponent, with x divided by its norm under cosine; int8 codes have a scale for each
// row beside (scalar quantization with a scale per vector, as LVQ). Immutable.
struct Quantizer {
  Metric metric = Metric::l2;
  Precision precision = Precision::int8;  // of the codes; fp32: no codes, fp32 rows are scanned
  std::size_t dim = 0;
  std::size_t chunks = 0;           // of a row
  std::unique_ptr<float[]> center;  // dim floats
  int exponent = 0;
};

// Bytes of the code of a coordinate; 0 for fp32.
[[nodiscard]] std::size_t code_bytes(Precision precision) noexcept;
// Chunks of 64 bytes that the codes of a row fill.
[[nodiscard]] std::size_t code_chunks(Precision precision, std::size_t dim) noexcept;

// Bound of the relative error of a sum of `dim` squares in single precision: stored squared norms are lowered by it,
// norms are raised.
[[nodiscard]] float loosening(std::size_t dim) noexcept;

// In double precision, summed in index order.
[[nodiscard]] double l2_norm(const float* vector, std::size_t dim) noexcept;

// A row with a larger norm, in units of the quantizer, is not coded: its terms let it pass every bound.
inline constexpr float norm_coded_max = 0x1p40F;

// Chooses the center, the median of each coordinate over a sample, and the exponent, which makes the median norm
// about 1.
[[nodiscard]] Quantizer train_quantizer(Metric metric, Precision precision, std::size_t dim,
                                        std::span<const float> vectors);

// Where the codes and terms of consecutive groups are written.
struct CodeTarget {
  std::byte* codes = nullptr;
  float* step = nullptr;
  float* offset = nullptr;
  float* residual = nullptr;
  float* norm = nullptr;
  float* group_residual = nullptr;
  float* group_norm = nullptr;
};

// Encodes up to 16 rows into the group at `target`; the terms of missing rows never pass a bound.
void encode_group(const Quantizer& quantizer, const float* vectors, std::size_t rows, const CodeTarget& target);

// Writes the values that the code of one row of a group stands for, in the user's units.
void decode_row(const Quantizer& quantizer, const std::byte* group, std::size_t row, float step,
                float* target) noexcept;

}  // namespace vectis::inline v0_1::exact
