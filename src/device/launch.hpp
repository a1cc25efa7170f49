// Checks every device makes alike before a kernel is launched.
#pragma once

#include <span>
#include <string_view>

#include "device/cores.hpp"
#include "vectis/device/backend.h"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

// InvalidInput unless both are the same context.
void check_same_context(std::string_view op, const ContextCore& stream, const ContextCore& other);

// InvalidInput when the shape is empty or larger than the device allows.
void check_shape(const LaunchShape& shape, const DeviceLimits& limits);

// InvalidInput when the shared arguments together are more than a work-group has.
void check_shared(std::span<const VectisArgument> arguments, const DeviceLimits& limits);

VectisLaunch lower(const LaunchShape& shape, std::span<const VectisArgument> arguments);

}  // namespace vectis::inline v0_1::detail
