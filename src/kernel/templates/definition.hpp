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

// Returns the float types that operations take.
std::vector<DType> float_types();  // float32, float16, bfloat16
// Returns the types that arithmetic operations take: float32, float16, bfloat16 and int8.
std::vector<DType> number_types();
// Returns the types that operations move and convert: float32, float16, bfloat16, int8 and int32.
std::vector<DType> storage_types();

// Returns whether the operands First and Second have one type; for Operation::types_agree. Both indices must be less
// than types.size(), which is not checked.
template <std::size_t First, std::size_t Second>
bool same_type(std::span<const DType> types) {
  return types[First] == types[Second];
}

// The upper limit, and negated the lower limit, of a float parameter without a range.
inline constexpr double anything = std::numeric_limits<double>::infinity();

// Throws InvalidInput with the name of the call's operation and `message`, which states the limit and what to
// change.
[[noreturn]] void throw_invalid(const OperationCall& call, const std::string& message);
// Throws InvalidInput unless the view of the operand has `rows` rows and `columns` columns; `why` explains the shape
// in the message. `operand` must be less than the number of views.
void expect_shape(const OperationCall& call, std::size_t operand, std::uint64_t rows, std::uint64_t columns,
                  std::string_view why);
// Throws InvalidInput unless view 1 has the shape of view 0, the operand 'x'; for Operation::check.
void expect_shape_of_x(const OperationCall& call);

// Returns a split of all these operands along one axis, on which they must have the same extent.
CallSplit split_along(SplitAxis axis, std::initializer_list<std::size_t> operands);
// Returns a function for Operation::splits that splits a call by the rows of these operands, which must have equally
// many rows.
std::function<std::vector<CallSplit>(const OperationCall&)> split_by_rows(std::initializer_list<std::size_t> operands);
// Returns a function for Operation::splits that splits a call by the rows of these operands or, if that does not
// suffice, by their columns. The operands must have the same shape.
std::function<std::vector<CallSplit>(const OperationCall&)> split_anywhere(std::initializer_list<std::size_t> operands);

// Returns the total bytes of the views' elements, without gaps between rows.
double bytes_of(std::span<const View> views);
// Returns the cost of a call without arithmetic: each view is read or written once. For Operation::cost.
OperationCost cost_of_moving(const OperationCall& call);
// Returns the cost of a call with one arithmetic operation per element of view 0, which reads or writes each view once.
// For Operation::cost.
OperationCost cost_per_element(const OperationCall& call);

// Returns a plan of this one launch, without temporaries.
inline LaunchPlan only(PlannedLaunch launch) {
  LaunchPlan plan;
  plan.launches.push_back(std::move(launch));
  return plan;
}

// Returns the view as a single row if its rows have no gaps between them, else unchanged.
View flattened(const View& view);

// Maximum number of work-groups in a one-dimensional grid that every device supports.
inline constexpr std::uint32_t groups_max = 65535;
// Partition of pieces of work over a one-dimensional grid: each of `groups` work-groups processes `chunk`
// consecutive pieces.
struct GridPartition {
  std::uint32_t chunk;
  std::uint32_t groups;
};
// Returns a partition of `pieces` over at most groups_max work-groups. A group processes `pieces_of_group` pieces,
// the number that it handles at once and at least 1, or a multiple if the grid would be too large. Results must fit
// 32 bits, which is not checked.
GridPartition partition_grid(std::uint64_t pieces, std::uint32_t pieces_of_group);

// Returns the largest power of two that is at most `wanted` and that the device allows as work-group size in the
// first dimension; at least 1.
std::uint32_t group_items(const DeviceInfo& device, std::uint32_t wanted);

// Returns the smallest power of two that is at least `value`; 1 for 0. `value` must be at most 2^31, which is not
// checked.
std::uint32_t power_of_two(std::uint64_t value);

// Returns the text with the first occurrence of each placeholder, such as "$STORE", replaced. Each must occur;
// otherwise throws std::out_of_range.
std::string substitute(std::string text, std::initializer_list<std::pair<std::string_view, std::string_view>> names);

// Converts to 32 bits. `value` must be below 2^32, which check_portable() ensures for views; larger values wrap.
inline std::uint32_t index32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
// Returns value / by rounded up. `by` must not be 0, and value + by must not overflow.
inline std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace vectis::inline v0_1::detail
