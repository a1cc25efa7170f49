// Checks made alike for every device before it is given work.
#pragma once

#include <span>
#include <string_view>

#include "device/cores.hpp"
#include "vectis/base/dtype.hpp"
#include "vectis/device/backend.h"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// InvalidInput unless both are the same context.
void check_same_context(std::string_view op, const ContextCore& stream, const ContextCore& other);

// InvalidInput unless the range lies inside the memory.
void check_range(std::string_view op, const MemoryCore& memory, std::uint64_t offset, std::uint64_t bytes);

// InvalidInput when the shape is empty or larger than the device allows.
void check_shape(const LaunchShape& shape, const DeviceLimits& limits);

// InvalidInput when the shared arguments together are more than a work-group has.
void check_shared(std::span<const VectisArgument> arguments, const DeviceLimits& limits);

VectisLaunch lower(const LaunchShape& shape, std::span<const VectisArgument> arguments);

// A rectangle of a named operation as this layer hands it on; the memory lives longer than the call.
struct OpView {
  const DeviceMemory* memory = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t stride = 0;
  DType type = DType::float32;
};

// Asks the backend to do a whole named operation; false when the portable kernel has to. Views were checked.
[[nodiscard]] bool run_op(Stream& stream, const char* name, std::span<const OpView> views,
                          std::span<const VectisNumber> numbers);

}  // namespace vectis::inline v0_1::detail
