// Products of two matrices' rows, tile by tile: the heart of matmul and of the distances.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// What is added up for a pair of elements.
enum class TileStep : std::uint8_t { product, squared_difference };

// How they are added up: as binary32; as int32 that wraps; or as whole numbers of 51 bits, rounded to binary32 once.
enum class TileNumbers : std::uint8_t { floats, wrapping, wide };

// A matrix read by steps: element (i, k) is at offset + i * step + k * depth_step.
struct TileSide {
  std::uint64_t offset = 0;
  std::uint64_t step = 0;
  std::uint64_t depth_step = 0;
};

struct TileWork {
  std::string name;  // of the kernel
  TileStep step = TileStep::product;
  DType element = DType::float32;  // of a and b
  TileNumbers numbers = TileNumbers::floats;
  std::vector<BufferParameter> buffers;  // after a and b
  std::vector<ScalarParameter> scalars;  // after the tile's own
  std::string store;  // statements that store `acc` (int when wrapping, else float) of `row` and `col` at index `to`
};

struct TileSize {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t depth = 0;
};

// The launch that computes every pair of a's rows and b's rows. Buffers and scalars of `work` are to be appended.
PlannedLaunch tile_launch(const TileWork& work, const TileSize& size, const TileSide& a, const TileSide& b,
                          const View& out, const DeviceInfo& device);

}  // namespace vectis::inline v0_1::detail
