// Which devices there are.
#pragma once

#include <cstdint>

#include "objects.hpp"

namespace vectis::webgpu {

// Fills state.instance and state.adapters. The setting `api` (vulkan, metal, dx12, gl, all) limits what is listed;
// without it every physical device is listed once, by OpenGL only when no better interface offers a device. Throws
// INVALID_INPUT for an unknown value, the reason NO_DRIVER or NO_DEVICE when nothing is usable.
void find_adapters(VectisBackendState& state);

// Throws INVALID_INPUT when there is no such device.
const ListedAdapter& adapter_at(const VectisBackendState& state, std::uint32_t index);

}  // namespace vectis::webgpu
