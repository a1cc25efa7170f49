// Tiles of int8 dot products by the matrix cores of AMD's CDNA GPUs: statements of a body for HIP alone, which a kernel
// takes in place of portable ones (KernelSource::overrides).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vectis::inline v0_1::detail {

// A tile of dot products, rows of x by rows of q, that a work-group of 256 work-items computes from shared memory, in
// which a block of each matrix is stored depth-major as words of four int8: word k of row r is at k * pitch + r.
struct Int8MfmaTile {
  std::uint32_t rows_each = 0;  // results of a work-item; a multiple of 4
  std::uint32_t queries_each = 0;
  std::uint32_t x_pitch = 0;  // words; 4 more than a multiple of 32, or 4 less
  std::uint32_t q_pitch = 0;
  bool by_pairs = false;  // blocks are loaded by int8_mfma_loads(), which also decides where they are in shared memory

  // Rows of x, and queries, between those of a work-item: it has four rows side by side, the next four 16 rows on, and
  // every 16th query.
  static constexpr std::uint32_t row_groups = 4;
  static constexpr std::uint32_t rows_together = 4;
  static constexpr std::uint32_t queries_apart = 16;
};

// A matrix whose blocks are loaded: "x" or "q".
struct Int8MfmaSide {
  std::string_view matrix;
  std::string_view first_row;   // of the tile in the matrix
  std::string_view rows;        // of the matrix
  std::uint32_t tile_rows = 0;  // a multiple of 64
  std::uint32_t pitch = 0;
};

// Statements that bring blocks to shared memory, 8 bytes of a row at a time. Offset, stride and columns of the matrix
// must be multiples of 8, and its memory must be aligned so.
struct Int8MfmaLoads {
  std::string first;  // load the first block
  std::string store;  // store what was loaded
  std::string next;   // load the next block, from column `next` on
};
// Returns them for one matrix of a tile. They use what int8_mfma_places() defines for `by_pairs`.
Int8MfmaLoads int8_mfma_loads(const Int8MfmaSide& side);

// Returns statements that define `x_at` and `q_at`, the places of the work-item's first row and of its first query in
// the tile, and what int8_mfma_steps() uses. They use `item`, the number of the work-item in its group.
std::string int8_mfma_places(const Int8MfmaTile& tile);
// Returns statements that add the products of a block, which is in the shared arrays `x_part` and `q_part`. All
// work-items of the group must run them.
std::string int8_mfma_steps(const Int8MfmaTile& tile);
// Returns statements that set sum_<query>_<row>, the int results of the work-item.
std::string int8_mfma_results(const Int8MfmaTile& tile);

}  // namespace vectis::inline v0_1::detail
