#include "kernel/templates/segments.hpp"

#include <algorithm>

#include "kernel/templates/definition.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr const char* begin_pieces = R"(
uint begin = GROUP_ID(0) * chunk;
uint count = UMIN(chunk, pieces - begin);
for (uint t = 0u; t < count; t++) {
  uint piece = begin + t;
  uint row = piece / segments;
  uint first = (piece - row * segments) * segment;
  uint length = UMIN(segment, columns - first);
)";

}  // namespace

RowSegments segment_rows(std::uint64_t rows, std::uint64_t columns, const SegmentGoal& goal) {
  return {rows, columns, std::max(goal.shortest, divide_up(columns, divide_up(goal.pieces, rows)))};
}

std::string segment_body(const std::string& statements) { return begin_pieces + statements + "}\n"; }

std::vector<ScalarParameter> segment_scalars() {
  return {{"chunk", DType::uint32},
          {"pieces", DType::uint32},
          {"segments", DType::uint32},
          {"segment", DType::uint32},
          {"columns", DType::uint32}};
}

SegmentLaunch segment_launch(const RowSegments& segments, std::uint32_t group) {
  const GridPartition work = partition_grid(segments.pieces(), 1);
  return {.shape = {.grid = {work.groups, 1, 1}, .block = {group, 1, 1}},
          .scalars = {work.chunk, index32(segments.pieces()), index32(segments.in_row()), index32(segments.segment),
                      index32(segments.columns)}};
}

}  // namespace vectis::inline v0_1::detail
