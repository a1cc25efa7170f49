// The tiled kernel of matmul and of the distances: a sum over a common dimension for every pair of rows of two
// matrices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// The term summed for a pair of elements.
enum class TileStep : std::uint8_t { product, squared_difference };

// How terms are summed: in float32; in int32, which wraps; or in 51-bit integers, rounded to float32 once.
enum class TileArithmetic : std::uint8_t { floats, wrapping, wide };

// The addressing of a matrix: element (i, k) is at offset + i * step + k * depth_step.
struct TileSide {
  std::uint64_t offset = 0;
  std::uint64_t step = 0;
  std::uint64_t depth_step = 0;
};

// The parts of the kernel that an operation chooses.
struct TileWork {
  std::string name;  // of the kernel
  TileStep step = TileStep::product;
  DType element = DType::float32;  // of a and b
  TileArithmetic arithmetic = TileArithmetic::floats;
  std::vector<BufferParameter> buffers;  // after a and b
  std::vector<ScalarParameter> scalars;  // after the template's own
  std::string store;  // statements that store `acc` (int when wrapping, else float) of `row` and `col` at index `to`
};

struct TileSize {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
};

// The launch over every pair of a row of a and a row of b. The caller appends the buffers and scalars of `work`.
PlannedLaunch tile_launch(const TileWork& work, const TileSize& size, const TileSide& a, const TileSide& b,
                          const View& out, const DeviceInfo& device);

}  // namespace vectis::inline v0_1::detail
