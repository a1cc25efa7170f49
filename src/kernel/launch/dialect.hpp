// Which language kernels are printed in for a device.
#pragma once

#include <cstdint>
#include <optional>

#include "vectis/device/device.hpp"
#include "vectis/kernel/source.hpp"

namespace vectis::inline v0_1::detail {

// Hand-written kernels are printed in all dialects but wgsl, generated ones in every dialect. glsl-webgpu is compiled
// when Vectis is built and never later, so a user's hand-written kernel is not printed in it.
enum class KernelOrigin : std::uint8_t { built_in, users, generated };

// The first of the device's languages that kernels of this origin are printed in; empty: none.
std::optional<Dialect> printed_dialect(const DeviceInfo& info, KernelOrigin origin);

}  // namespace vectis::inline v0_1::detail
