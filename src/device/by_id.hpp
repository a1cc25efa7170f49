// A device by the number users pass around.
#pragma once

#include <string_view>

#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"

namespace vectis::inline v0_1::detail {

// InvalidInput, naming `op` and the ids that exist, when there is no such device.
const Device& device_by_id(Runtime& runtime, int id, std::string_view op);

}  // namespace vectis::inline v0_1::detail
