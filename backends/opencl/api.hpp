// The OpenCL functions this backend calls, found at run time, and what their error codes mean. All are OpenCL 1.2.
#pragma once

#include <CL/cl.h>

#include <string>

#include "backends/plugin/failure.hpp"
#include "backends/plugin/host.hpp"
#include "backends/plugin/unique_handle.hpp"
#include "vectis/device/backend.h"

namespace vectis::opencl {

using plugin::Failure;
using plugin::Host;

// clang-format off
#define VECTIS_OPENCL_FUNCTIONS(each)                                                            \
  each(GetPlatformIDs) each(GetPlatformInfo) each(GetDeviceIDs) each(GetDeviceInfo)              \
  each(CreateSubDevices) each(ReleaseDevice)                                                     \
  each(CreateContext) each(GetContextInfo) each(ReleaseContext)                                  \
  each(CreateBuffer) each(CreateSubBuffer) each(ReleaseMemObject)                                \
  each(CreateCommandQueue) each(ReleaseCommandQueue) each(Flush) each(Finish)                    \
  each(EnqueueWriteBuffer) each(EnqueueReadBuffer) each(EnqueueCopyBuffer)                       \
  each(EnqueueFillBuffer) each(EnqueueNDRangeKernel)                                             \
  each(EnqueueMarkerWithWaitList) each(EnqueueBarrierWithWaitList)                               \
  each(WaitForEvents) each(GetEventInfo) each(GetEventProfilingInfo) each(ReleaseEvent)          \
  each(CreateProgramWithSource) each(CreateProgramWithBinary) each(BuildProgram)                 \
  each(GetProgramInfo) each(GetProgramBuildInfo) each(ReleaseProgram)                            \
  each(CreateKernel) each(GetKernelInfo) each(SetKernelArg) each(ReleaseKernel)
// clang-format on

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses): the names are OpenCL's
struct Api {
#define VECTIS_OPENCL_MEMBER(name) decltype(&::cl##name) name = nullptr;
  VECTIS_OPENCL_FUNCTIONS(VECTIS_OPENCL_MEMBER)
#undef VECTIS_OPENCL_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// Opens the loader library. Throws Failure with the reason NO_LIBRARY when it cannot be opened and DRIVER_TOO_OLD when
// it lacks a function of OpenCL 1.2.
Api load_api(const Host& host);

// An OpenCL object, released with its owner.
template <class Object>
using Owned = plugin::UniqueHandle<Object, cl_int(CL_API_CALL*)(Object)>;

// "CL_OUT_OF_RESOURCES (-5)"; a code without a name is "error -9999".
std::string describe(cl_int code);

// The status of a code that has one meaning whichever call returns it; DRIVER_FAILURE for all others.
VectisStatus status_of(cl_int code) noexcept;

// "<call> failed with <code>", as a Failure to throw.
Failure failed_call(const std::string& call, cl_int code);
Failure failed_call(const std::string& call, cl_int code, VectisStatus status);

// Throws failed_call unless the code is CL_SUCCESS.
inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw failed_call(call, code);
}

}  // namespace vectis::opencl
