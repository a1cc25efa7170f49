// The loop over tiles of a matrix, and the tiled kernel of matmul and of the distances: a sum over a common dimension
// for every pair of rows of two matrices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// The macros of a kernel with tile_loop(): how many work-items stand side by side in a group, and how many rows and
// columns a tile has.
struct TileMacros {
  std::string_view across;
  std::string_view rows;
  std::string_view columns;
};
// Returns the kernel body that runs `statements` for each tile of the work-group. They may use `across` and `down`, the
// column and row of the work-item in its group, and `row0` and `col0`, the first row and column of the tile. All
// work-items of the group run them, so they may contain barriers. The kernel's first scalars must be `chunk` (of the
// grid partition), `tiles` (of the whole matrix) and `row_tiles` (of one row of tiles).
std::string tile_loop(const TileMacros& macros, std::string_view statements);

// Returns the side of the largest square of work-items that `items` suffice for: 16, 8, 4, 2 or 1. Does not throw.
[[nodiscard]] constexpr std::uint32_t square_side(std::uint32_t items) noexcept {
  return items >= 256 ? 16 : items >= 64 ? 8 : items >= 16 ? 4 : items >= 4 ? 2 : 1;
}

// The term that the tiled kernel sums for a pair of elements.
enum class TileStep : std::uint8_t { product, squared_difference };

// How the tiled kernel sums its terms: in float32; in int32, which wraps; or in 51-bit integers, rounded to float32
// once.
enum class TileArithmetic : std::uint8_t { floats, wrapping, wide };

// The addressing of a matrix of the tiled kernel: element (i, k) is at offset + i * step + k * depth_step.
struct TileSide {
  std::uint64_t offset = 0;
  std::uint64_t step = 0;
  std::uint64_t depth_step = 0;
};

// The parts of the tiled kernel that an operation chooses. The kernel is cached by name, element and arithmetic, so
// equal values of these must mean equal `step`, parameters and `store`.
struct TileWork {
  std::string name;  // of the kernel
  TileStep step = TileStep::product;
  DType element = DType::float32;  // of a and b
  TileArithmetic arithmetic = TileArithmetic::floats;
  std::vector<BufferParameter> buffers;  // after a and b
  std::vector<ScalarParameter> scalars;  // after the template's own
  std::string store;  // statements that store `acc` (int when wrapping, else float) of `row` and `col` at index `to`
};

// Number of rows of a, of rows of b (`columns` of the result), and of elements that each sum runs over (`depth`).
struct TileSize {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
};

// Returns the launch that computes the result of every pair of a row of a and a row of b. The caller appends the
// buffers and scalars of `work`, in order. All indices must be below 2^32, which check_portable() ensures.
PlannedLaunch tile_launch(const TileWork& work, const TileSize& size, const TileSide& a, const TileSide& b,
                          const View& out, const DeviceInfo& device);

}  // namespace vectis::inline v0_1::detail
