// Which devices the backend lists.
#pragma once

#include "objects.hpp"

namespace vectis::opencl {

// Appends every usable device of every platform to state.devices and logs the others. Precondition: state.api is
// loaded. Throws Failure: VECTIS_BACKEND_CREATION with NO_DRIVER when there is no platform; when no device is usable,
// the failure of a driver that is too old before one that failed before one without devices.
void find_devices(VectisBackendState& state);

// When the setting `sub_devices` is N, appends N sub-devices of every listed device and logs why a device cannot be
// partitioned. Call after find_devices. Throws Failure: VECTIS_INVALID_INPUT when the setting is not an integer from
// 1 to 2^20, otherwise when a call of the driver fails.
void add_sub_devices(VectisBackendState& state);

}  // namespace vectis::opencl
