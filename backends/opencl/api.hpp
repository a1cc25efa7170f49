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
  each(CreateKernel) each(GetKernelInfo) each(GetKernelWorkGroupInfo) each(SetKernelArg)         \
  each(ReleaseKernel)
// clang-format on

// NOLINTBEGIN(readability-identifier-naming,bugprone-macro-parentheses): the names are OpenCL's
// The functions of OpenCL. After load_api() none is null. Immutable, so thread-safe.
struct Api {
#define VECTIS_OPENCL_MEMBER(name) decltype(&::cl##name) name = nullptr;
  VECTIS_OPENCL_FUNCTIONS(VECTIS_OPENCL_MEMBER)
#undef VECTIS_OPENCL_MEMBER
};
// NOLINTEND(readability-identifier-naming,bugprone-macro-parentheses)

// Opens the loader library libOpenCL.so.1 and returns its functions. Throws Failure with VECTIS_BACKEND_CREATION:
// reason NO_LIBRARY when it cannot be opened, DRIVER_TOO_OLD when it lacks a function of OpenCL 1.2.
Api load_api(const Host& host);

// Owns an object of OpenCL and releases it on destruction; a failed release is ignored.
template <class Object>
using Owned = plugin::UniqueHandle<Object, cl_int(CL_API_CALL*)(Object)>;

// Returns the name and number of an OpenCL code, "CL_OUT_OF_RESOURCES (-5)"; "error -1234" for one without a name.
std::string describe(cl_int code);

// Returns the status of an OpenCL code that has one meaning whichever call returns it: VECTIS_DEVICE_LOST,
// VECTIS_ALLOCATION or VECTIS_INVALID_INPUT; VECTIS_DRIVER_FAILURE for all others. `code` must not be CL_SUCCESS.
// Does not throw.
VectisStatus status_of(cl_int code) noexcept;

// Returns, and does not throw, a Failure with the text "<call> failed with <code>" and the status of status_of(code).
// `code` must not be CL_SUCCESS.
Failure failed_call(const std::string& call, cl_int code);
// Returns, and does not throw, a Failure with the text "<call> failed with <code>" and the given `status`. `code`
// must not be CL_SUCCESS.
Failure failed_call(const std::string& call, cl_int code, VectisStatus status);

// Does nothing when `code` is CL_SUCCESS; otherwise throws the Failure of failed_call(call, code). `call` names the
// OpenCL function that returned the code.
inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) throw failed_call(call, code);
}

}  // namespace vectis::opencl
