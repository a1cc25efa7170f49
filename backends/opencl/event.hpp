#pragma once

#include <memory>

#include "objects.hpp"

namespace vectis::opencl {

// Where the event was recorded last; null when it never was.
std::shared_ptr<const Marker> last_marker(VectisEvent& event);

}  // namespace vectis::opencl
