// HIP's module API and hipRTC under the names the shared sources of backends/cuda_hip use. What else
// differs is in vendor.cpp.
#pragma once

#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <array>
#include <cstddef>
#include <cstdint>

// The type of hipGetDeviceProperties and its versions: a layout of hipDeviceProp_t belongs to each symbol, and headers
// since ROCm 6 rename both. Declared for its type and never defined.
hipError_t vectis_hip_device_properties(void* properties, int device);

namespace vectis::cuda_hip {

using Code = hipError_t;
using DeviceId = hipDevice_t;
using ContextHandle = int;  // HIP has no contexts any more: the index of the device stands for its only one
using Address = hipDeviceptr_t;
using StreamHandle = hipStream_t;
using EventHandle = hipEvent_t;
using ModuleHandle = hipModule_t;
using FunctionHandle = hipFunction_t;
using Attribute = hipDeviceAttribute_t;

// Lists the driver's functions that must exist, as each(member of Api, function in the header, symbol in the
// library).
// clang-format off
#define VECTIS_DRIVER_FUNCTIONS(each)                                                                              \
  each(Init, hipInit, "hipInit")                                                                                   \
  each(DriverGetVersion, hipDriverGetVersion, "hipDriverGetVersion")                                               \
  each(GetErrorName, hipGetErrorName, "hipGetErrorName")                                                           \
  each(DeviceGetCount, hipGetDeviceCount, "hipGetDeviceCount")                                                     \
  each(DeviceGet, hipDeviceGet, "hipDeviceGet")                                                                    \
  each(DeviceGetName, hipDeviceGetName, "hipDeviceGetName")                                                        \
  each(DeviceGetAttribute, hipDeviceGetAttribute, "hipDeviceGetAttribute")                                         \
  each(DeviceTotalMem, hipDeviceTotalMem, "hipDeviceTotalMem")                                                     \
  each(DeviceGetPciBusId, hipDeviceGetPCIBusId, "hipDeviceGetPCIBusId")                                            \
  each(GetDevice, hipGetDevice, "hipGetDevice")                                                                    \
  each(SetDevice, hipSetDevice, "hipSetDevice")                                                                    \
  each(MemGetInfo, hipMemGetInfo, "hipMemGetInfo")                                                                 \
  each(MemAlloc, hipMalloc, "hipMalloc")                                                                           \
  each(MemFree, hipFree, "hipFree")                                                                                \
  each(MemHostAlloc, hipHostMalloc, "hipHostMalloc")                                                               \
  each(MemFreeHost, hipHostFree, "hipHostFree")                                                                    \
  each(MemcpyHtoDAsync, hipMemcpyHtoDAsync, "hipMemcpyHtoDAsync")                                                  \
  each(MemcpyDtoHAsync, hipMemcpyDtoHAsync, "hipMemcpyDtoHAsync")                                                  \
  each(MemcpyDtoDAsync, hipMemcpyDtoDAsync, "hipMemcpyDtoDAsync")                                                  \
  each(MemsetD8Async, hipMemsetD8Async, "hipMemsetD8Async")                                                        \
  each(MemcpyPeerAsync, hipMemcpyPeerAsync, "hipMemcpyPeerAsync")                                                  \
  each(DeviceCanAccessPeer, hipDeviceCanAccessPeer, "hipDeviceCanAccessPeer")                                      \
  each(EnablePeerAccess, hipDeviceEnablePeerAccess, "hipDeviceEnablePeerAccess")                                   \
  each(StreamCreate, hipStreamCreateWithFlags, "hipStreamCreateWithFlags")                                         \
  each(StreamDestroy, hipStreamDestroy, "hipStreamDestroy")                                                        \
  each(StreamSynchronize, hipStreamSynchronize, "hipStreamSynchronize")                                            \
  each(StreamWaitEvent, hipStreamWaitEvent, "hipStreamWaitEvent")                                                  \
  each(EventCreate, hipEventCreateWithFlags, "hipEventCreateWithFlags")                                            \
  each(EventDestroy, hipEventDestroy, "hipEventDestroy")                                                           \
  each(EventRecord, hipEventRecord, "hipEventRecord")                                                              \
  each(EventQuery, hipEventQuery, "hipEventQuery")                                                                 \
  each(EventSynchronize, hipEventSynchronize, "hipEventSynchronize")                                               \
  each(EventElapsedTime, hipEventElapsedTime, "hipEventElapsedTime")                                               \
  each(ModuleLoadData, hipModuleLoadData, "hipModuleLoadData")                                                     \
  each(ModuleUnload, hipModuleUnload, "hipModuleUnload")                                                           \
  each(ModuleGetFunction, hipModuleGetFunction, "hipModuleGetFunction")                                            \
  each(FuncGetAttribute, hipFuncGetAttribute, "hipFuncGetAttribute")                                               \
  each(LaunchKernel, hipModuleLaunchKernel, "hipModuleLaunchKernel")

// Lists the driver's functions that may be missing: ROCm 6 added hipGetDevicePropertiesR0600, with another layout of
// hipDeviceProp_t, and kept the unversioned symbol with the layout of ROCm 5.
#define VECTIS_DRIVER_OPTIONAL_FUNCTIONS(each)                                                                     \
  each(GetDevicePropertiesR0600, vectis_hip_device_properties, "hipGetDevicePropertiesR0600")                      \
  each(GetDeviceProperties, vectis_hip_device_properties, "hipGetDeviceProperties")

using CompilerCode = hiprtcResult;
using CompilerProgram = hiprtcProgram;
#define VECTIS_COMPILER_FUNCTIONS(each)                                                                            \
  each(Version, decltype(&::hiprtcVersion), "hiprtcVersion")                                                       \
  each(CreateProgram, decltype(&::hiprtcCreateProgram), "hiprtcCreateProgram")                                     \
  each(DestroyProgram, decltype(&::hiprtcDestroyProgram), "hiprtcDestroyProgram")                                  \
  each(CompileProgram, decltype(&::hiprtcCompileProgram), "hiprtcCompileProgram")                                  \
  each(GetProgramLogSize, decltype(&::hiprtcGetProgramLogSize), "hiprtcGetProgramLogSize")                         \
  each(GetProgramLog, decltype(&::hiprtcGetProgramLog), "hiprtcGetProgramLog")                                     \
  each(GetErrorString, decltype(&::hiprtcGetErrorString), "hiprtcGetErrorString")                                  \
  each(GetCodeSize, decltype(&::hiprtcGetCodeSize), "hiprtcGetCodeSize")                                           \
  each(GetCode, decltype(&::hiprtcGetCode), "hiprtcGetCode")
// clang-format on

inline constexpr CompilerCode compiler_ok = HIPRTC_SUCCESS;
inline constexpr CompilerCode compiler_rejects_options = HIPRTC_ERROR_INVALID_OPTION;
inline constexpr CompilerCode compiler_rejects_text = HIPRTC_ERROR_COMPILATION;

inline constexpr const char* backend_name = "hip";
inline constexpr const char* backend_title = "the HIP backend";
inline constexpr const char* backend_requirement = "AMD's ROCm 5.0 or newer";
inline constexpr const char* backend_install = "Install AMD's kernel driver (amdgpu) and ROCm (libamdhip64).";
inline constexpr const char* device_vendor = "AMD";
inline constexpr const char* device_language = "hip-c++";
inline constexpr const char* driver_title = "HIP";
inline constexpr std::array driver_libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
inline constexpr const char* compiler_title = "hipRTC";
inline constexpr const char* no_device_advice =
    ": the driver finds no device; check rocminfo, the variables HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and in "
    "a "
    "container that it was started with its devices (--device /dev/kfd --device /dev/dri)";

inline constexpr unsigned stream_flags = hipStreamNonBlocking;
inline constexpr Attribute attribute_block_items = hipDeviceAttributeMaxThreadsPerBlock;
inline constexpr std::array attribute_block_size = {hipDeviceAttributeMaxBlockDimX, hipDeviceAttributeMaxBlockDimY,
                                                    hipDeviceAttributeMaxBlockDimZ};
inline constexpr Attribute attribute_shared_bytes = hipDeviceAttributeMaxSharedMemoryPerBlock;
inline constexpr Attribute attribute_compute_units = hipDeviceAttributeMultiprocessorCount;
inline constexpr Attribute attribute_major = hipDeviceAttributeComputeCapabilityMajor;
inline constexpr Attribute attribute_minor = hipDeviceAttributeComputeCapabilityMinor;
inline constexpr Attribute attribute_integrated = hipDeviceAttributeIntegrated;
inline constexpr hipFunction_attribute function_block_items = HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;

inline constexpr unsigned pinned_flags = hipHostMallocPortable;
// A thread that waits for an event sleeps: work before it may take long, and the driver spins otherwise.
inline constexpr unsigned event_flags = hipEventBlockingSync;
inline constexpr unsigned event_without_timing = hipEventDisableTiming;

// Returns the device address `bytes` bytes behind `address`. Does not throw. Unchecked precondition: the result lies
// inside the same allocation.
inline Address offset_address(Address address, std::uint64_t bytes) { return static_cast<char*>(address) + bytes; }

// Returns the host address `host` in the type that the driver's copy functions take: const in CUDA, not in HIP. Does
// not throw; the driver only reads from the address.
inline void* copy_source(const void* host) { return const_cast<void*>(host); }

}  // namespace vectis::cuda_hip
