// The OpenCL functions this backend calls, found at run time. All are OpenCL 1.2.
#pragma once

#include <CL/cl.h>

#include "backends/plugin/host.hpp"

namespace vectis::opencl {

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

// Opens the loader library. Throws Failure with the reason NO_LIBRARY when there is none and DRIVER_TOO_OLD when it
// lacks a function of OpenCL 1.2.
Api load_api(const Host& host);

}  // namespace vectis::opencl
