// Failures under their short names.
#pragma once

#include <utility>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::webgpu {

using plugin::Failure;
using plugin::tell;

// Runs the body of a slot; whatever it throws becomes its status and message.
template <class Body>
VectisStatus guarded(VectisMessage* message, Body&& body) noexcept {
  return plugin::guarded("the WebGPU backend", message, std::forward<Body>(body));
}

}  // namespace vectis::webgpu
