// What codes of the driver mean as failures.
#pragma once

#include <CL/cl.h>

#include <string>
#include <utility>

#include "backends/plugin/failure.hpp"
#include "vectis/device/backend.h"

namespace vectis::opencl {

using plugin::Failure;
using plugin::tell;

// "CL_OUT_OF_RESOURCES (-5)"; a code without a name is "error -9999".
std::string describe(cl_int code);
// What a code means wherever it has one meaning; everything else is DRIVER_FAILURE.
VectisStatus status_of(cl_int code) noexcept;

// "<call> failed with <code>", as a Failure to throw.
Failure failed_call(const char* call, cl_int code);
Failure failed_call(const char* call, cl_int code, VectisStatus status);

inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw failed_call(call, code);
}

// Runs the body of a slot; whatever it throws becomes its status and message.
template <class Body>
VectisStatus guarded(VectisMessage* message, Body&& body) noexcept {
  return plugin::guarded("the OpenCL backend", message, std::forward<Body>(body));
}

}  // namespace vectis::opencl
