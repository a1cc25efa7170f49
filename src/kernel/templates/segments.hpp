// The kernel template of operations that work along rows, such as prefix_sum and top_k.
//
// Long rows are divided into segments, so that a few long rows also occupy the whole device. One piece of work is one
// segment of one row; a work-group processes one piece after another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

// Rows of `columns` elements, each divided into segments of `segment` elements, of which the last may be shorter.
struct RowSegments {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t segment = 1;

  // Returns the number of segments of one row. `segment` must not be 0.
  [[nodiscard]] std::uint64_t in_row() const { return (columns + segment - 1) / segment; }
  // Returns the number of segments of all rows. `segment` must not be 0.
  [[nodiscard]] std::uint64_t pieces() const { return rows * in_row(); }
};

// The number and length of segments that segment_rows() aims at.
struct SegmentGoal {
  std::uint64_t pieces = 1;    // aims at about this many, of all rows
  std::uint64_t shortest = 1;  // segment that is worth a work-group
};
// Returns the segments of `rows` rows of `columns` elements: about goal.pieces in all, unless they would be shorter
// than goal.shortest. `rows` must not be 0.
RowSegments segment_rows(std::uint64_t rows, std::uint64_t columns, const SegmentGoal& goal);

// Returns the kernel body that runs `statements` for each piece of the work-group. They may use `piece`, its index
// among all pieces; `row`; `first`, the column in which the segment begins; and `length`, its elements. All work-items
// of the group run them, so they may contain barriers. The kernel's first scalars must be segment_scalars().
std::string segment_body(const std::string& statements);
// Returns the scalars that a kernel with segment_body() takes before all others; segment_launch() provides their
// values.
std::vector<ScalarParameter> segment_scalars();

// Grid and first scalars of a launch of a kernel with segment_body().
struct SegmentLaunch {
  LaunchShape shape;
  std::vector<LaunchArgument> scalars;
};
// Returns the grid that covers every piece with work-groups of `group` work-items, and the values of
// segment_scalars(). There must be at least one piece, and all elements must be below 2^32, which check_portable()
// ensures.
SegmentLaunch segment_launch(const RowSegments& segments, std::uint32_t group);

}  // namespace vectis::inline v0_1::detail
