// From rows to codes and the terms of the bound (docs/exact-search.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "search/exact/segment.hpp"

namespace vectis::inline v0_1::exact {

// Bytes of a code; fp32 has none.
[[nodiscard]] std::size_t code_bytes(Precision precision) noexcept;
// 64-byte chunks of a row's codes.
[[nodiscard]] std::size_t code_chunks(Precision precision, std::size_t dim) noexcept;

// How far sums of `dim` squares computed in float may be off, relatively, with room to spare: the stored square of a
// norm is lowered by it and a norm raised.
[[nodiscard]] float loosening(std::size_t dim) noexcept;

// In double precision, summed in order.
[[nodiscard]] double norm_of(const float* vector, std::size_t dim) noexcept;

// Beyond this norm, in units of the frame, a row is not coded: its terms say that nothing is known of it.
inline constexpr float norm_coded_max = 0x1p40F;

// Centre: the median of each coordinate over a sample, which no outlier moves. Scale: the middle norm becomes about 1.
[[nodiscard]] Frame choose_frame(Metric distance, Precision precision, std::size_t dim, std::span<const float> vectors);

// Where the codes and terms of consecutive groups go.
struct CodeTarget {
  std::byte* codes = nullptr;
  float* step = nullptr;
  float* offset = nullptr;
  float* residual = nullptr;
  float* norm = nullptr;
  float* group_residual = nullptr;
  float* group_norm = nullptr;
};

// Codes of up to 16 rows into the group at `target`; rows that are missing get terms that no limit lets through.
void encode_group(const Frame& frame, const float* vectors, std::size_t rows, const CodeTarget& target);

// What the code of one row of a group stands for, in the user's units.
void decode_row(const Frame& frame, const std::byte* group, std::size_t row, float step, float* target) noexcept;

}  // namespace vectis::inline v0_1::exact
