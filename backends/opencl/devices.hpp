// Which devices the backend lists.
#pragma once

#include "objects.hpp"

namespace vectis::opencl {

// Fills state.devices with every usable device of every platform and logs those that are not usable. Throws when none
// is: a driver that is too old before one that failed before one without devices.
void find_devices(VectisBackendState& state);

// When the setting `sub_devices` is N, appends N sub-devices of every device that can be partitioned and logs why
// another cannot. Throws INVALID_INPUT when the setting is not an integer from 1 on.
void add_sub_devices(VectisBackendState& state);

}  // namespace vectis::opencl
