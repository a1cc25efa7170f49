#include "kernel/launch/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "device/launch.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::uint64_t index_max = UINT32_MAX;

[[noreturn]] void throw_invalid(const Operation& operation, const std::string& message) {
  throw Error(ErrorCode::invalid_input, operation.name, message);
}

ParameterValue checked(const Operation& operation, const ParameterRule& rule, const ParameterValue& given) {
  if (given.real < rule.min || given.real > rule.max) {
    throw_invalid(operation, fmt::format("{} is {}, it must lie between {} and {}; change it", rule.name, given.real,
                                         rule.min, rule.max));
  }
  if (!rule.integer) return given.real;
  if (std::isnan(given.real) || given.real != std::trunc(given.real)) {
    throw_invalid(operation, fmt::format("{} is {}, the operation takes integers from {} to {}; round it", rule.name,
                                         given.real, rule.min, rule.max));
  }
  return static_cast<std::int64_t>(given.real);
}

std::string names(std::span<const DType> types) {
  std::string result;
  for (const DType type : types) result += fmt::format("{}{}", result.empty() ? "" : ", ", name(type));
  return result;
}

void check_type(const Operation& operation, const OperandRule& rule, const View& view) {
  if (std::ranges::find(rule.types, view.type) != rule.types.end()) return;
  throw_invalid(operation, fmt::format("'{}' is {}, the operation takes {}; cast it first", rule.name, name(view.type),
                                       names(rule.types)));
}

// Whether offset + (rows - 1) * stride + columns stays below 2^62, so that sums of bytes cannot overflow either.
bool addressable(const View& view) {
  constexpr double limit = 4.6e18;
  const double last =
      static_cast<double>(view.offset) + static_cast<double>(view.rows) * static_cast<double>(view.stride);
  return last + static_cast<double>(view.columns) < limit;
}

void check_place(const Operation& operation, const OperandRule& rule, const View& view) {
  if (view.rows > 1 && view.stride < view.columns) {
    throw_invalid(operation,
                  fmt::format("'{}' has a stride of {} elements, its rows have {} columns; use a stride of at least "
                              "the columns",
                              rule.name, view.stride, view.columns));
  }
  const std::uint64_t held = view.memory.bytes() / size_of(view.type);
  if (!addressable(view) || view.end() > held) {
    throw_invalid(operation,
                  fmt::format("'{}' has {} rows and {} columns at offset {} with stride {}, its memory holds {} "
                              "elements of {}; use a larger memory or a smaller view",
                              rule.name, view.rows, view.columns, view.offset, view.stride, held, name(view.type)));
  }
}

// The bytes a view spans.
ByteRange spanned(const View& view) {
  return byte_range(view.memory, view.offset * size_of(view.type), view.end() * size_of(view.type));
}

// Two columns' ranges of one matrix: rows interleave, elements do not meet.
bool beside_each_other(const View& a, const ByteRange& at_a, const View& b, const ByteRange& at_b) {
  const std::uint64_t pitch = a.stride * size_of(a.type);
  if (pitch == 0 || pitch != b.stride * size_of(b.type)) return false;
  const std::uint64_t distance = (at_b.begin % pitch + pitch - at_a.begin % pitch) % pitch;
  return distance >= a.columns * size_of(a.type) && pitch - distance >= b.columns * size_of(b.type);
}

bool overlap(const View& a, const View& b) {
  if (a.elements() == 0 || b.elements() == 0) return false;
  const ByteRange at_a = spanned(a);
  const ByteRange at_b = spanned(b);
  return detail::overlaps(at_a, at_b) && !beside_each_other(a, at_a, b, at_b);
}

void check_overlaps(const OperationCall& call) {
  const auto& rules = call.operation->operands;
  for (std::size_t written = 0; written < rules.size(); ++written) {
    if (rules[written].access == Access::read) continue;
    for (std::size_t other = 0; other < rules.size(); ++other) {
      if (other == written || !overlap(call.views[written], call.views[other])) continue;
      throw_invalid(*call.operation,
                    fmt::format("'{}' is written and overlaps '{}' at bytes {} to {} of one memory; write "
                                "elsewhere",
                                rules[written].name, rules[other].name, spanned(call.views[written]).begin,
                                spanned(call.views[written]).end));
    }
  }
}

}  // namespace

CallParameters::CallParameters(const Operation& operation, std::span<const ParameterValue> given)
    : count_(operation.parameters.size()) {
  if (given.size() > count_) {
    throw_invalid(operation,
                  fmt::format("{} parameters were given, the operation takes at most {}; docs/operations.md lists them",
                              given.size(), count_));
  }
  for (std::size_t i = 0; i < count_; ++i) {
    const ParameterRule& rule = operation.parameters[i];
    values_[i] = checked(operation, rule, i < given.size() ? given[i] : ParameterValue(rule.default_value));
  }
}

void check_call(const OperationCall& call, const ContextCore& context) {
  const Operation& operation = *call.operation;
  if (call.views.size() != operation.operands.size()) {
    throw_invalid(operation, fmt::format("{} views were given, the operation takes {}; docs/operations.md lists them",
                                         call.views.size(), operation.operands.size()));
  }
  std::array<DType, operands_max> types{};
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    check_same_context(operation.name, context, *call.views[i].memory.core()->context);
    check_type(operation, operation.operands[i], call.views[i]);
    check_place(operation, operation.operands[i], call.views[i]);
    types[i] = call.views[i].type;
  }
  const std::span<const DType> given(types.data(), call.views.size());
  if (operation.types_agree && !operation.types_agree(given)) {
    throw_invalid(operation, fmt::format("the operand types {} cannot be combined; docs/operations.md lists the "
                                         "combinations",
                                         names(given)));
  }
  if (operation.check) operation.check(call);
  check_overlaps(call);
}

void check_memory(const OperationCall& call, const ContextCore& context) {
  const Operation& operation = *call.operation;
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    check_same_context(operation.name, context, *call.views[i].memory.core()->context);
    check_place(operation, operation.operands[i], call.views[i]);
  }
  check_overlaps(call);
}

void check_portable(const OperationCall& call) {
  for (std::size_t i = 0; i < call.views.size(); ++i) {
    if (call.views[i].end() <= index_max) continue;
    throw_invalid(*call.operation,
                  fmt::format("'{}' reaches to element {}, portable kernels reach {}; split it into parts",
                              call.operation->operands[i].name, call.views[i].end(), index_max));
  }
}

}  // namespace vectis::inline v0_1::detail
