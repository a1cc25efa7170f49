// Helpers for the definitions of operations: type lists, shape checks, call splits and grid partition.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vectis/kernel/operation.hpp"

namespace vectis::inline v0_1::detail {

std::vector<DType> float_types();    // float32, float16, bfloat16
std::vector<DType> number_types();   // and int8
std::vector<DType> storage_types();  // and int32

// For Operation::types_agree: operands First and Second have one type.
template <std::size_t First, std::size_t Second>
bool same_type(std::span<const DType> types) {
  return types[First] == types[Second];
}

// The limits of an unbounded float parameter.
inline constexpr double anything = std::numeric_limits<double>::infinity();

// Throws InvalidInput with the operation's name.
[[noreturn]] void throw_invalid(const OperationCall& call, const std::string& message);
// Throws InvalidInput unless the operand has this shape; `why` explains the shape in the message.
void expect_shape(const OperationCall& call, std::size_t operand, std::uint64_t rows, std::uint64_t columns,
                  std::string_view why);

// A split of all these operands along one axis.
CallSplit split_along(SplitAxis axis, std::initializer_list<std::size_t> operands);
// For Operation::splits: by the rows of these operands.
std::function<std::vector<CallSplit>(const OperationCall&)> split_by_rows(std::initializer_list<std::size_t> operands);
// For Operation::splits: by the rows of these operands, or by columns.
std::function<std::vector<CallSplit>(const OperationCall&)> split_anywhere(std::initializer_list<std::size_t> operands);

// Total bytes of the views' elements.
double bytes_of(std::span<const View> views);

// A plan of one launch without temporaries.
inline LaunchPlan only(PlannedLaunch launch) {
  LaunchPlan plan;
  plan.launches.push_back(std::move(launch));
  return plan;
}

// The view as a single row if its rows have no gaps between them, else unchanged.
View flattened(const View& view);

// Partition of `pieces` of work over a one-dimensional grid of at most 65,535 groups, which every device supports. Each
// group processes `chunk` consecutive pieces: as many as it handles at once, or a multiple if the grid would be too
// large.
inline constexpr std::uint32_t groups_max = 65535;
struct GridPartition {
  std::uint32_t chunk;
  std::uint32_t groups;
};
GridPartition partition_grid(std::uint64_t pieces, std::uint32_t pieces_of_group);

// The largest power of two that is at most `wanted` and that a group of the device may have in its first dimension.
std::uint32_t group_items(const DeviceInfo& device, std::uint32_t wanted);

// Smallest power of two that is at least `value`.
std::uint32_t power_of_two(std::uint64_t value);

// The text with the first occurrence of each placeholder, such as "$STORE", replaced.
std::string substitute(std::string text, std::initializer_list<std::pair<std::string_view, std::string_view>> names);

inline std::uint32_t index32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
inline std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace vectis::inline v0_1::detail
