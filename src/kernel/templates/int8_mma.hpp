// Tiles of int8 dot products by the matrix units of NVIDIA's GPUs: statements of a body for CUDA alone, which a kernel
// takes in place of portable ones (KernelSource::overrides).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vectis::inline v0_1::detail {

// A tile of dot products, rows of x by rows of q, that a work-group computes from shared memory, in which a block of
// each matrix is stored depth-major as words of four int8: word k of row r is at k * pitch + r.
struct Int8MmaTile {
  std::uint32_t rows = 0;          // of x, a multiple of 64
  std::uint32_t queries = 0;       // rows of q
  std::uint32_t rows_each = 0;     // results of a work-item
  std::uint32_t queries_each = 0;  // even
  std::uint32_t x_pitch = 0;       // words
  std::uint32_t q_pitch = 0;
  bool by_pairs = false;  // blocks are loaded by int8_mma_loads(), which also decides where they are in shared memory

  // Rows of x, and queries, between those of a work-item: it has rows 8 * j, and pairs of queries 8 * i, from its first
  // on.
  static constexpr std::uint32_t lanes_across = 8;
  static constexpr std::uint32_t lanes_down = 4;
  static constexpr std::uint32_t depth = 8;  // words of a block
  // The architectures (75 is sm_75) for which the statements differ; the first is the oldest that runs them.
  static constexpr const char* architectures = "75, 80";
};

// A matrix whose blocks are loaded: "x" or "q".
struct Int8MmaSide {
  std::string_view matrix;
  std::string_view first_row;  // of the tile in the matrix
  std::string_view rows;       // of the matrix
  std::uint32_t tile_rows = 0;
  std::uint32_t pitch = 0;
};

// Statements that bring blocks to shared memory, 8 bytes of a row at a time. Offset, stride and columns of the matrix
// must be multiples of 8, and its memory must be aligned so.
struct Int8MmaLoads {
  std::string first;  // load the first block
  std::string store;  // store what was loaded
  std::string next;   // load the next block, from column `next` on
};
// Returns them for one matrix of a tile of 256 work-items. They use what int8_mma_places() defines for `by_pairs`.
Int8MmaLoads int8_mma_loads(const Int8MmaSide& side);

// Returns statements that define `x_at` and `q_at`, the places of the work-item's first row and of its first query in
// the tile, and what int8_mma_steps() uses. They use `item`, the number of the work-item in its group.
std::string int8_mma_places(const Int8MmaTile& tile);
// Returns statements that add the products of a block to sum_<query>_<row>, the int results of the work-item. The block
// is in the shared arrays `x_part` and `q_part`. All work-items of the group must run them.
std::string int8_mma_steps(const Int8MmaTile& tile);

}  // namespace vectis::inline v0_1::detail
