#include "kernel/templates/tile.hpp"

#include <fmt/format.h>

#include "kernel/templates/definition.hpp"

namespace vectis::inline v0_1::detail {

namespace {

// A group of SIDE * SIDE work-items computes a tile of (4 * SIDE)² results, sixteen each. Blocks of both matrices are
// in shared memory, stored depth-major; they are read from memory along whichever of their two steps is 1. Blocks of
// the depth are summed in `parts`, which $ADD adds to `sums` from time to time, and what `sums` cannot represent to
// `rests`. The inner loops have few iterations, with constant counts, so that compilers unroll them: Mesa's software
// drivers stop a work-item after 65,535 loop iterations in all.
constexpr const char* tile_body = R"(
  NUMBER sums[16];
  NUMBER rests[16];
  NUMBER parts[16];
  for (uint i = 0u; i < 16u; i++) {
    sums[i] = ZERO;
    rests[i] = ZERO;
    parts[i] = ZERO;
  }
  for (uint s = 0u; s < steps; s++) {
    uint depth0 = s * DEPTH;
    $LOAD_A
    $LOAD_B
    BARRIER();
    for (uint four = 0u; four < DEPTH; four += 4u) {
      for (uint k = 0u; k < 4u; k++) {
        uint at = (four + k) * PITCH;
        NUMBER b0 = b_part[at + across];
        NUMBER b1 = b_part[at + across + SIDE];
        NUMBER b2 = b_part[at + across + 2u * SIDE];
        NUMBER b3 = b_part[at + across + 3u * SIDE];
        for (uint i = 0u; i < 4u; i++) {
          NUMBER a0 = a_part[at + down + i * SIDE];
          parts[i * 4u] = tile_step(a0, b0, parts[i * 4u]);
          parts[i * 4u + 1u] = tile_step(a0, b1, parts[i * 4u + 1u]);
          parts[i * 4u + 2u] = tile_step(a0, b2, parts[i * 4u + 2u]);
          parts[i * 4u + 3u] = tile_step(a0, b3, parts[i * 4u + 3u]);
        }
      }
    }
    $ADD
    BARRIER();
  }
  for (uint i = 0u; i < 16u; i++) {
    uint row = row0 + down + (i / 4u) * SIDE;
    uint col = col0 + across + (i % 4u) * SIDE;
    if (row < rows && col < columns) {
      uint to = out_offset + row * out_stride + col;
      $RESULT
      $STORE
    }
  }
)";

// Loads the next block of matrix {0}, "a" or "b", to shared memory; {1} is the tile's first row in it, {2} its rows.
constexpr const char* load_part = R"(
    for (uint first = 0u; first < TILE * DEPTH; first += GROUP_SIZE(0)) {{
      uint i = first + LOCAL_ID(0);
      uint r = i / DEPTH;
      uint k = i % DEPTH;
      if ({0}_depth_step != 1u) {{
        k = i / TILE;
        r = i % TILE;
      }}
      NUMBER value = ZERO;
      if ({1} + r < {2} && depth0 + k < depth) {{
        value = CONVERT(LOAD_{0}({0}_offset + ({1} + r) * {0}_step + (depth0 + k) * {0}_depth_step));
      }}
      {0}_part[k * PITCH + r] = value;
    }}
)";

// What happens to `parts` after each block, and how the total becomes `acc`.
struct Adding {
  const char* add;
  const char* result;
};

// Two levels: the errors of the additions in a sum of n terms grow like the root of n, and here with 64 terms of a part
// and with the parts, of which a vector of 4096 elements has 64. A compiler may not remove that, as it may remove
// compensated summation where it assumes that additions are associative (Metal's default).
constexpr Adding floats = {R"(
    if (s % 4u == 3u) {
      for (uint i = 0u; i < 16u; i++) {
        sums[i] = sums[i] + parts[i];
        parts[i] = 0.0f;
      }
    }
)",
                           "float acc = sums[i] + parts[i];"};
// int32, which wraps.
constexpr Adding wrapping = {"", "int acc = parts[i];"};
// `sums` holds the low 20 bits and `rests` the bits above them; a block sum has fewer than 20.
constexpr Adding wide = {R"(
    for (uint i = 0u; i < 16u; i++) {
      int sum = sums[i] + parts[i];
      rests[i] = rests[i] + (sum >> 20);
      sums[i] = sum & 0xfffff;
      parts[i] = 0;
    }
)",
                         "float acc = F32(rests[i]) * 1048576.0f + F32(sums[i]);"};

const Adding& adding(TileArithmetic arithmetic) {
  if (arithmetic == TileArithmetic::floats) return floats;
  return arithmetic == TileArithmetic::wrapping ? wrapping : wide;
}

constexpr std::uint32_t depth_of_tile = 16;
constexpr std::uint32_t results_of_item = 4;  // in each direction

// Words from one depth of a block to the next. The 32 lanes of a warp store 16 depths of two rows: with 2 more than a
// multiple of 32, to different banks of shared memory.
constexpr std::uint32_t pitch_of(std::uint32_t tile) { return tile + 2; }

std::uint64_t shared_bytes(std::uint32_t side) {
  return 2 * sizeof(float) * depth_of_tile * pitch_of(side * results_of_item);
}

// The largest tile side that fits the device's work-group size and shared memory.
std::uint32_t side_of(const DeviceInfo& device) {
  const std::uint32_t items = group_items(device, 256);
  std::uint32_t side = 16;
  while (side > 1 && (side * side > items || shared_bytes(side) > device.limits.shared_bytes_max)) side /= 2;
  return side;
}

std::string step_function(const TileWork& work) {
  const bool product = work.step == TileStep::product;
  if (work.arithmetic != TileArithmetic::floats) {
    return product ? "FUNCTION int tile_step(int a, int b, int sum) { return sum + a * b; }"
                   : "FUNCTION int tile_step(int a, int b, int sum) { int d = a - b; return sum + d * d; }";
  }
  return product ? "FUNCTION float tile_step(float a, float b, float sum) { return FMA(a, b, sum); }"
                 : "FUNCTION float tile_step(float a, float b, float sum) { float d = a - b; return FMA(d, d, sum); }";
}

KernelSource tile_source(const TileWork& work, std::uint32_t side) {
  const std::uint32_t tile = side * results_of_item;
  const bool whole = work.arithmetic != TileArithmetic::floats;
  const DType number = whole ? DType::int32 : DType::float32;
  KernelSource source;
  source.name = work.name;
  source.buffers = {{"a", work.element, Access::read}, {"b", work.element, Access::read}};
  source.buffers.insert(source.buffers.end(), work.buffers.begin(), work.buffers.end());
  for (const char* scalar : {"chunk", "tiles", "row_tiles", "steps", "rows", "columns", "depth", "a_offset", "a_step",
                             "a_depth_step", "b_offset", "b_step", "b_depth_step", "out_offset", "out_stride"}) {
    source.scalars.push_back({scalar, DType::uint32});
  }
  source.scalars.insert(source.scalars.end(), work.scalars.begin(), work.scalars.end());
  source.shared = {{"a_part", number, depth_of_tile * pitch_of(tile)},
                   {"b_part", number, depth_of_tile * pitch_of(tile)}};
  source.group = {side * side, 1, 1};
  source.defines = {{"SIDE", fmt::format("{}u", side)},
                    {"TILE", fmt::format("{}u", tile)},
                    {"PITCH", fmt::format("{}u", pitch_of(tile))},
                    {"DEPTH", fmt::format("{}u", depth_of_tile)},
                    {"NUMBER", whole ? "int" : "float"},
                    {"ZERO", whole ? "0" : "0.0f"},
                    {"CONVERT(x)", whole ? "(x)" : "F32(x)"}};
  source.functions = step_function(work);
  const Adding& sums = adding(work.arithmetic);
  source.body = tile_loop({.across = "SIDE", .rows = "TILE", .columns = "TILE"},
                          substitute(tile_body, {{"$LOAD_A", fmt::format(load_part, "a", "row0", "rows")},
                                                 {"$LOAD_B", fmt::format(load_part, "b", "col0", "columns")},
                                                 {"$ADD", sums.add},
                                                 {"$RESULT", sums.result},
                                                 {"$STORE", work.store}}));
  return source;
}

}  // namespace

std::string tile_loop(const TileMacros& macros, std::string_view statements) {
  constexpr const char* text = R"(
uint across = LOCAL_ID(0) % {0};
uint down = LOCAL_ID(0) / {0};
uint begin = GROUP_ID(0) * chunk;
uint count = UMIN(chunk, tiles - begin);
for (uint t = 0u; t < count; t++) {{
  uint tile_row = (begin + t) / row_tiles;
  uint row0 = tile_row * {1};
  uint col0 = (begin + t - tile_row * row_tiles) * {2};
{3}
}}
)";
  return fmt::format(text, macros.across, macros.rows, macros.columns, statements);
}

PlannedLaunch tile_launch(const TileWork& work, const TileSize& size, const TileSide& a, const TileSide& b,
                          const View& out, const DeviceInfo& device) {
  const std::uint32_t side = side_of(device);
  const std::uint64_t tile = std::uint64_t{side} * results_of_item;
  const std::uint64_t row_tiles = divide_up(size.columns, tile);
  const std::uint64_t tiles = divide_up(size.rows, tile) * row_tiles;
  const GridPartition spread_tiles = partition_grid(tiles, 1);
  PlannedLaunch launch;
  launch.key = fmt::format("{} {} {} {}", work.name, short_name(work.element), static_cast<int>(work.arithmetic), side);
  launch.source = [work, side] { return tile_source(work, side); };
  launch.shape = {.grid = {spread_tiles.groups, 1, 1}, .block = {side * side, 1, 1}};
  launch.buffers = {0, 1};
  launch.scalars = {
      spread_tiles.chunk,    index32(tiles),        index32(row_tiles),  index32(divide_up(size.depth, depth_of_tile)),
      index32(size.rows),    index32(size.columns), index32(size.depth), index32(a.offset),
      index32(a.step),       index32(a.depth_step), index32(b.offset),   index32(b.step),
      index32(b.depth_step), index32(out.offset),   index32(out.stride)};
  return launch;
}

}  // namespace vectis::inline v0_1::detail
