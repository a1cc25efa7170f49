#include "device/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/call.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

void check_same_context(std::string_view op, const ContextCore& stream, const ContextCore& other) {
  if (&stream == &other) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("the stream belongs to a context on {}, an argument to another context on {}; copy the "
                          "argument to the stream's context",
                          describe(*stream.device), describe(*other.device)));
}

void check_range(std::string_view op, const MemoryCore& memory, std::uint64_t offset, std::uint64_t bytes) {
  if (offset <= memory.bytes && bytes <= memory.bytes - offset) return;
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("{} bytes at offset {} exceed the memory's {} bytes; correct offset and size", bytes, offset,
                          memory.bytes));
}

namespace {

// Work-groups of one launch over all dimensions, on every device: PoCL counts them in 32 bits and ends the process
// when the count wraps.
constexpr std::uint64_t groups_max = UINT32_MAX;

}  // namespace

void check_shape(const LaunchShape& shape, const DeviceLimits& limits) {
  std::uint64_t items = 1;
  std::uint64_t groups = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (shape.grid[axis] == 0 || shape.block[axis] == 0) {
      throw Error(ErrorCode::invalid_input, "launch",
                  fmt::format("dimension {} has {} work-groups of {} work-items; both must be at least 1", axis,
                              shape.grid[axis], shape.block[axis]));
    }
    if (shape.block[axis] > limits.group_size_max[axis]) {
      throw Error(
          ErrorCode::invalid_input, "launch",
          fmt::format("dimension {} has {} work-items per work-group, the device's limit is {}; use a smaller block",
                      axis, shape.block[axis], limits.group_size_max[axis]));
    }
    // A product above 32 bits is above every limit: it must not wrap.
    if (items <= UINT32_MAX) items *= shape.block[axis];
    if (groups <= UINT32_MAX) groups *= shape.grid[axis];
  }
  if (items > limits.group_items_max) {
    throw Error(ErrorCode::invalid_input, "launch",
                fmt::format("a work-group has {} work-items, the device's limit is {}; use a smaller block", items,
                            limits.group_items_max));
  }
  if (groups > groups_max) {
    throw Error(ErrorCode::invalid_input, "launch",
                fmt::format("a grid of {} x {} x {} work-groups exceeds the limit of {} in all; use larger "
                            "work-groups, more work per work-item, or several launches",
                            shape.grid[0], shape.grid[1], shape.grid[2], groups_max));
  }
}

void check_shared(std::span<const VectisArgument> arguments, const DeviceLimits& limits) {
  std::uint64_t bytes = 0;
  for (const VectisArgument& argument : arguments) {
    if (argument.kind != VECTIS_ARGUMENT_SHARED) continue;
    // Saturates: a sum that wraps could pass for a small one.
    bytes = argument.bytes > UINT64_MAX - bytes ? UINT64_MAX : bytes + argument.bytes;
  }
  if (bytes > limits.shared_bytes_max) {
    throw Error(
        ErrorCode::invalid_input, "launch",
        fmt::format("{} bytes of shared memory were requested, the limit of a work-group is {}; use smaller tiles",
                    bytes, limits.shared_bytes_max));
  }
}

VectisArgument LoweredArgument::from(const LaunchArgument& argument) noexcept {
  if (argument.memory_) return {VECTIS_ARGUMENT_MEMORY, argument.memory_->handle, nullptr, 0};
  if (argument.is_value_) return {VECTIS_ARGUMENT_VALUE, nullptr, argument.value_.data(), argument.bytes_};
  return {VECTIS_ARGUMENT_SHARED, nullptr, nullptr, argument.bytes_};
}

VectisLaunch lower(const LaunchShape& shape, std::span<const VectisArgument> arguments) noexcept {
  VectisLaunch launch{};
  launch.size = sizeof(launch);
  std::ranges::copy(shape.grid, launch.grid);
  std::ranges::copy(shape.block, launch.block);
  launch.arguments = arguments.data();
  launch.argument_count = arguments.size();
  return launch;
}

}  // namespace vectis::inline v0_1::detail
