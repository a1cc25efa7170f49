#include "kernel/launch/arguments.hpp"

#include <fmt/format.h>

#include <limits>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

KernelArgument::KernelArgument(const DeviceMemory& memory)
    : lowered_(memory), kind_(Kind::memory), bytes_(memory.bytes()) {}
KernelArgument::KernelArgument(const ManagedBuffer& buffer) : KernelArgument(buffer.memory()) {}
KernelArgument::KernelArgument(float value) noexcept : lowered_(value), kind_(Kind::real) {}
KernelArgument::KernelArgument(double value) noexcept : lowered_(value), kind_(Kind::wide_real) {}
KernelArgument::KernelArgument(bool value) noexcept : lowered_(value), kind_(Kind::boolean), integer_(value ? 1 : 0) {}

KernelArgument KernelArgument::shared(std::size_t bytes) noexcept {
  return {LaunchArgument::shared(bytes), Kind::shared};
}

namespace detail {

namespace {

using Kind = KernelArgument::Kind;

constexpr std::uint64_t word_bytes = 4;

std::string_view describe(Kind kind) noexcept {
  switch (kind) {
    case Kind::memory:
      return "memory";
    case Kind::shared:
      return "shared memory";
    case Kind::real:
      return "a float";
    case Kind::wide_real:
      return "a double";
    case Kind::integer:
      return "an integer";
    case Kind::boolean:
      return "a bool";
  }
  return "something else";
}

[[noreturn]] void refuse(std::string_view kernel, const std::string& message) {
  throw Error(ErrorCode::invalid_input, "launch", fmt::format("kernel '{}': {}", kernel, message));
}

LaunchArgument lower_buffer(const BufferParameter& parameter, std::string_view kernel, const KernelArgument& argument) {
  if (argument.kind() != Kind::memory) {
    refuse(kernel,
           fmt::format("buffer '{}' was given {}; give it device memory", parameter.name, describe(argument.kind())));
  }
  if (argument.bytes() % word_bytes != 0) {
    refuse(kernel, fmt::format("buffer '{}' ({}) was given {} bytes, which are no whole 32-bit words; round its memory "
                               "up to a multiple of {}",
                               parameter.name, short_name(parameter.element), argument.bytes(), word_bytes));
  }
  return argument.lowered();
}

template <class T>
LaunchArgument lower_integer(const ScalarParameter& parameter, std::string_view kernel,
                             const KernelArgument& argument) {
  if (argument.kind() != Kind::integer) {
    refuse(kernel, fmt::format("scalar '{}' ({}) was given {}; give it an integer", parameter.name,
                               short_name(parameter.element), describe(argument.kind())));
  }
  if (!std::in_range<T>(argument.integer())) {
    refuse(kernel, fmt::format("scalar '{}' ({}) was given {}, its limits are {} and {}", parameter.name,
                               short_name(parameter.element), argument.integer(), std::numeric_limits<T>::min(),
                               std::numeric_limits<T>::max()));
  }
  return static_cast<T>(argument.integer());
}

LaunchArgument lower_scalar(const ScalarParameter& parameter, std::string_view kernel, const KernelArgument& argument) {
  if (parameter.element == DType::int32) return lower_integer<std::int32_t>(parameter, kernel, argument);
  if (parameter.element == DType::uint32) return lower_integer<std::uint32_t>(parameter, kernel, argument);
  if (argument.kind() != Kind::real) {
    refuse(kernel, fmt::format("scalar '{}' (f32) was given {}; give it a float, as in 2.0f", parameter.name,
                               describe(argument.kind())));
  }
  return argument.lowered();
}

// "x, y, count"
std::string names_of(const KernelSource& source) {
  std::string names;
  for (const BufferParameter& buffer : source.buffers) names += (names.empty() ? "" : ", ") + buffer.name;
  for (const ScalarParameter& scalar : source.scalars) names += (names.empty() ? "" : ", ") + scalar.name;
  return names;
}

}  // namespace

std::vector<LaunchArgument> lower_arguments(const KernelSource* source, std::string_view kernel,
                                            std::span<const KernelArgument> arguments) {
  std::vector<LaunchArgument> lowered;
  lowered.reserve(arguments.size());
  if (source == nullptr) {
    for (const KernelArgument& argument : arguments) lowered.push_back(argument.lowered());
    return lowered;
  }
  const std::size_t buffers = source->buffers.size();
  const std::size_t needed = buffers + source->scalars.size();
  if (arguments.size() != needed) {
    refuse(kernel,
           fmt::format("{} arguments were given, it takes {}: {}", arguments.size(), needed, names_of(*source)));
  }
  for (std::size_t i = 0; i < needed; ++i) {
    lowered.push_back(i < buffers ? lower_buffer(source->buffers[i], kernel, arguments[i])
                                  : lower_scalar(source->scalars[i - buffers], kernel, arguments[i]));
  }
  return lowered;
}

std::optional<LaunchShape> cover(const WorkItems& items, const std::array<std::uint32_t, 3>& group) {
  LaunchShape shape;
  shape.block = group;
  const std::array<std::uint64_t, 3> counts{items.x, items.y, items.z};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (counts[axis] == 0) return std::nullopt;
    if (group[axis] == 0) {
      throw Error(ErrorCode::invalid_input, "launch",
                  fmt::format("the work-group has 0 work-items in dimension {}; at least 1", axis));
    }
    const std::uint64_t groups = (counts[axis] - 1) / group[axis] + 1;
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    if (groups > limit) {
      throw Error(
          ErrorCode::invalid_input, "launch",
          fmt::format("{} work-items in dimension {} are {} groups of {}, the limit is {}; use larger groups or "
                      "more dimensions",
                      counts[axis], axis, groups, group[axis], limit));
    }
    shape.grid[axis] = static_cast<std::uint32_t>(groups);
  }
  return shape;
}

}  // namespace detail

}  // namespace vectis::inline v0_1
