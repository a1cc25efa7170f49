// transpose: 32-bit elements through a tile of shared memory, packed ones word by word.
#include <fmt/format.h>

#include "kernel/templates/definition.hpp"
#include "kernel/templates/packing.hpp"
#include "kernel/templates/tile.hpp"

namespace vectis::inline v0_1 {

namespace {

using namespace detail;

// A group processes one tile after another: read along the rows of x, written along the rows of out.
constexpr const char* tile_body = R"(
  if (row0 + down < x_rows && col0 + across < x_columns) {
    tile[down * (SIDE + 1u) + across] = LOAD_x(x_offset + (row0 + down) * x_stride + col0 + across);
  }
  BARRIER();
  if (col0 + down < x_columns && row0 + across < x_rows) {
    STORE_y(out_offset + (col0 + down) * out_stride + row0 + across, tile[across * (SIDE + 1u) + down]);
  }
  BARRIER();
)";

KernelSource tile_source(std::uint32_t side) {
  return {.name = "transpose_tile",
          .buffers = {{"x", DType::uint32, Access::read}, {"y", DType::uint32, Access::write}},
          .scalars = {{"chunk", DType::uint32},
                      {"tiles", DType::uint32},
                      {"row_tiles", DType::uint32},
                      {"x_rows", DType::uint32},
                      {"x_columns", DType::uint32},
                      {"x_offset", DType::uint32},
                      {"x_stride", DType::uint32},
                      {"out_offset", DType::uint32},
                      {"out_stride", DType::uint32}},
          .shared = {{"tile", DType::uint32, side * (side + 1)}},
          .group = {side * side, 1, 1},
          .defines = {{"SIDE", fmt::format("{}u", side)}},
          .functions = {},
          .body = tile_loop({.across = "SIDE", .rows = "SIDE", .columns = "SIDE"}, tile_body),
          .overrides = {}};
}

PlannedLaunch tile_launch(const View& x, const View& out, const DeviceInfo& device) {
  const std::uint32_t side = square_side(group_items(device, 256));
  const std::uint64_t row_tiles = divide_up(x.columns, side);
  const std::uint64_t tiles = divide_up(x.rows, side) * row_tiles;
  const GridPartition work = partition_grid(tiles, 1);
  return {fmt::format("transpose tile {}", side),
          [=] { return tile_source(side); },
          {.grid = {work.groups, 1, 1}, .block = {side * side, 1, 1}},
          {0, 1},
          {work.chunk, index32(tiles), index32(row_tiles), index32(x.rows), index32(x.columns), index32(x.offset),
           index32(x.stride), index32(out.offset), index32(out.stride)}};
}

WordText word_text() {
  WordText text = copy_elements("x_offset + col * x_stride + row");
  text.whole.clear();  // neighbors in a row of out are not neighbors in x
  return text;
}

LaunchPlan plan(const OperationCall& call, const DeviceInfo& device) {
  const View& x = call.views[0];
  const View& out = call.views[1];
  if (lanes_of(out.type) == 1) return only(tile_launch(x, out, device));
  return only(moving_launch("transpose", x, out, word_text, device));
}

}  // namespace

void define_transpose(std::vector<Operation>& operations) {
  operations.push_back({.name = "transpose",
                        .summary = "out becomes the transpose of x.",
                        .operands = {{"x", Access::read, storage_types()}, {"out", Access::write, storage_types()}},
                        .parameters = {},
                        .types_agree = same_type<0, 1>,
                        .check =
                            [](const OperationCall& call) {
                              expect_shape(call, 1, call.views[0].columns, call.views[0].rows, "'x' transposed");
                            },
                        .when_empty = {},
                        .plan = plan,
                        .cost = cost_of_moving,
                        .samples = {{{3, 5}, {5, 3}}},
                        .splits = [](const OperationCall&) -> std::vector<CallSplit> {
                          return {{{{0, SplitAxis::rows}, {1, SplitAxis::columns}}},
                                  {{{0, SplitAxis::columns}, {1, SplitAxis::rows}}}};
                        }});
}

}  // namespace vectis::inline v0_1
