#include "kernel/templates/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

std::vector<DType> float_types() { return {DType::float32, DType::float16, DType::bfloat16}; }
std::vector<DType> number_types() { return {DType::float32, DType::float16, DType::bfloat16, DType::int8}; }
std::vector<DType> storage_types() {
  return {DType::float32, DType::float16, DType::bfloat16, DType::int8, DType::int32};
}

void throw_invalid(const OperationCall& call, const std::string& message) {
  throw Error(ErrorCode::invalid_input, call.operation->name, message);
}

void expect_shape(const OperationCall& call, std::size_t operand, std::uint64_t rows, std::uint64_t columns,
                  std::string_view why) {
  const View& view = call.views[operand];
  if (view.rows == rows && view.columns == columns) return;
  throw_invalid(call, fmt::format("'{}' is {} x {}, it must be {} x {}, {}; give a view of that shape",
                                  call.operation->operands[operand].name, view.rows, view.columns, rows, columns, why));
}

void expect_shape_of_x(const OperationCall& call) {
  expect_shape(call, 1, call.views[0].rows, call.views[0].columns, "as 'x' is");
}

CallSplit split_along(SplitAxis axis, std::initializer_list<std::size_t> operands) {
  CallSplit split;
  for (const std::size_t operand : operands) split.operands.push_back({operand, axis});
  return split;
}

std::function<std::vector<CallSplit>(const OperationCall&)> split_by_rows(std::initializer_list<std::size_t> operands) {
  return [split = split_along(SplitAxis::rows, operands)](const OperationCall&) { return std::vector{split}; };
}

std::function<std::vector<CallSplit>(const OperationCall&)> split_anywhere(
    std::initializer_list<std::size_t> operands) {
  return [rows = split_along(SplitAxis::rows, operands), columns = split_along(SplitAxis::columns, operands)](
             const OperationCall&) { return std::vector{rows, columns}; };
}

double bytes_of(std::span<const View> views) {
  double bytes = 0;
  for (const View& view : views)
    bytes += static_cast<double>(view.elements()) * static_cast<double>(size_of(view.type));
  return bytes;
}

OperationCost cost_of_moving(const OperationCall& call) { return {0, bytes_of(call.views)}; }

OperationCost cost_per_element(const OperationCall& call) {
  return {static_cast<double>(call.views[0].elements()), bytes_of(call.views)};
}

View flattened(const View& view) {
  View result = view;
  if (view.rows == 1 || view.stride == view.columns) {
    result.rows = 1;
    result.columns = view.elements();
    result.stride = result.columns;
  }
  return result;
}

GridPartition partition_grid(std::uint64_t pieces, std::uint32_t pieces_of_group) {
  const std::uint64_t min_chunk = divide_up(pieces, groups_max);
  const std::uint64_t chunk = std::max<std::uint64_t>(1, divide_up(min_chunk, pieces_of_group)) * pieces_of_group;
  return {index32(chunk), index32(divide_up(pieces, chunk))};
}

std::uint32_t group_items(const DeviceInfo& device, std::uint32_t wanted) {
  const std::uint32_t max = std::min({wanted, device.limits.group_items_max, device.limits.group_size_max[0]});
  return std::bit_floor(std::max(max, 1U));
}

std::uint32_t power_of_two(std::uint64_t value) { return index32(std::bit_ceil(std::max<std::uint64_t>(value, 1))); }

std::string substitute(std::string text, std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
  for (const auto& [name, replacement] : names) text.replace(text.find(name), name.size(), replacement);
  return text;
}

}  // namespace vectis::inline v0_1::detail
