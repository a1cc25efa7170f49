#pragma once

#include <cstdint>

#include "objects.hpp"

namespace vectis::cuda_hip {

// Throws INVALID_INPUT when there is no such device.
const ListedDevice& device_at(const VectisBackendState& state, std::uint32_t index);

}  // namespace vectis::cuda_hip
