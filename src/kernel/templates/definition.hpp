// What the definitions of operations share: types, shapes and the cutting of work into groups.
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

// The ends of a real parameter that may be anything.
inline constexpr double anything = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const OperationCall& call, const std::string& message);
// InvalidInput unless the operand has this many rows and columns; `why` says where they come from.
void expect_shape(const OperationCall& call, std::size_t operand, std::uint64_t rows, std::uint64_t columns,
                  std::string_view why);

// All of these operands along one axis.
Cut cut_along(CutAxis axis, std::initializer_list<std::size_t> operands);
// For Operation::cuts: rows of these operands go together.
std::function<std::vector<Cut>(const OperationCall&)> cut_by_rows(std::initializer_list<std::size_t> operands);
// The same, and within a row its elements.
std::function<std::vector<Cut>(const OperationCall&)> cut_anywhere(std::initializer_list<std::size_t> operands);

// Bytes of all elements of the views, once each.
double bytes_of(std::span<const View> views);

// The plan of one launch without temporaries. Moves it, which braces would not.
inline LaunchPlan only(PlannedLaunch launch) {
  LaunchPlan plan;
  plan.launches.push_back(std::move(launch));
  return plan;
}

// The view as one row if its rows follow each other without gaps, else as it is.
View flattened(const View& view);

// Dimensions have at most 65,535 groups, which every device takes. A group's items share a chunk of consecutive pieces
// of work: usually one each, more when there are too many.
inline constexpr std::uint32_t groups_max = 65535;
struct Spread {
  std::uint32_t chunk;
  std::uint32_t groups;
};
Spread spread(std::uint64_t pieces, std::uint32_t pieces_of_group);

// The largest power of two that is at most `wanted` and that a group of the device may have in its first dimension.
std::uint32_t group_items(const DeviceInfo& device, std::uint32_t wanted);

// Smallest power of two that is at least `value`.
std::uint32_t power_of_two(std::uint64_t value);

// The text with the first place of each name, "$STORE", replaced by what it stands for.
std::string substitute(std::string text, std::initializer_list<std::pair<std::string_view, std::string_view>> names);

inline std::uint32_t index32(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
inline std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

}  // namespace vectis::inline v0_1::detail
