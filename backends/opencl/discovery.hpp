// Which devices there are.
#pragma once

#include <cstdint>

#include "objects.hpp"

namespace vectis::opencl {

// Fills state.devices with every usable device of every platform. What is unusable beside something usable is logged;
// when nothing is usable, throws the most telling reason.
void find_devices(VectisBackendState& state);

// Reads the setting `sub_devices` and, when it is there, appends that many parts of every device which can be divided.
// A device which cannot is logged. Throws INVALID_INPUT when the setting is no whole number from 1 on.
void add_sub_devices(VectisBackendState& state);

// Throws INVALID_INPUT when there is no such device.
const ListedDevice& device_at(const VectisBackendState& state, std::uint32_t index);

}  // namespace vectis::opencl
