// CUDA's driver API and NVRTC under the names the shared sources of backends/cuda_hip use. What else
// differs is in vendor.cpp.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

struct _nvrtcProgram;  // NVRTC's name

namespace vectis::cuda_hip {

using Code = CUresult;
using DeviceId = CUdevice;
using ContextHandle = CUcontext;
using Address = CUdeviceptr;
using StreamHandle = CUstream;
using EventHandle = CUevent;
using ModuleHandle = CUmodule;
using FunctionHandle = CUfunction;
using Attribute = CUdevice_attribute;

// Lists the driver's functions that must exist, as each(member of Api, function in cuda.h, symbol in the library).
// The symbol is the oldest version of the function, which every driver since CUDA 11.2 has.
// clang-format off
#define VECTIS_DRIVER_FUNCTIONS(each)                                                                              \
  each(Init, cuInit, "cuInit")                                                                                     \
  each(DriverGetVersion, cuDriverGetVersion, "cuDriverGetVersion")                                                 \
  each(GetErrorName, cuGetErrorName, "cuGetErrorName")                                                             \
  each(DeviceGetCount, cuDeviceGetCount, "cuDeviceGetCount")                                                       \
  each(DeviceGet, cuDeviceGet, "cuDeviceGet")                                                                      \
  each(DeviceGetName, cuDeviceGetName, "cuDeviceGetName")                                                          \
  each(DeviceGetAttribute, cuDeviceGetAttribute, "cuDeviceGetAttribute")                                           \
  each(DeviceTotalMem, cuDeviceTotalMem, "cuDeviceTotalMem_v2")                                                    \
  each(DeviceGetPciBusId, cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId")                                              \
  each(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                               \
  each(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")                         \
  each(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState")                         \
  each(CtxPushCurrent, cuCtxPushCurrent, "cuCtxPushCurrent_v2")                                                    \
  each(CtxPopCurrent, cuCtxPopCurrent, "cuCtxPopCurrent_v2")                                                       \
  each(MemGetInfo, cuMemGetInfo, "cuMemGetInfo_v2")                                                                \
  each(MemAlloc, cuMemAlloc, "cuMemAlloc_v2")                                                                      \
  each(MemFree, cuMemFree, "cuMemFree_v2")                                                                         \
  each(MemHostAlloc, cuMemHostAlloc, "cuMemHostAlloc")                                                             \
  each(MemFreeHost, cuMemFreeHost, "cuMemFreeHost")                                                                \
  each(MemcpyHtoDAsync, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                                                 \
  each(MemcpyDtoHAsync, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")                                                 \
  each(MemcpyDtoDAsync, cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")                                                 \
  each(MemsetD8Async, cuMemsetD8Async, "cuMemsetD8Async")                                                          \
  each(MemcpyPeerAsync, cuMemcpyPeerAsync, "cuMemcpyPeerAsync")                                                    \
  each(DeviceCanAccessPeer, cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer")                                        \
  each(EnablePeerAccess, cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess")                                           \
  each(StreamCreate, cuStreamCreate, "cuStreamCreate")                                                             \
  each(StreamDestroy, cuStreamDestroy, "cuStreamDestroy_v2")                                                       \
  each(StreamSynchronize, cuStreamSynchronize, "cuStreamSynchronize")                                              \
  each(StreamWaitEvent, cuStreamWaitEvent, "cuStreamWaitEvent")                                                    \
  each(EventCreate, cuEventCreate, "cuEventCreate")                                                                \
  each(EventDestroy, cuEventDestroy, "cuEventDestroy_v2")                                                          \
  each(EventRecord, cuEventRecord, "cuEventRecord")                                                                \
  each(EventQuery, cuEventQuery, "cuEventQuery")                                                                   \
  each(EventSynchronize, cuEventSynchronize, "cuEventSynchronize")                                                 \
  each(EventElapsedTime, cuEventElapsedTime, "cuEventElapsedTime")                                                 \
  each(ModuleLoadData, cuModuleLoadData, "cuModuleLoadData")                                                       \
  each(ModuleLoadDataEx, cuModuleLoadDataEx, "cuModuleLoadDataEx")                                                 \
  each(LinkCreate, cuLinkCreate, "cuLinkCreate_v2")                                                                \
  each(LinkAddData, cuLinkAddData, "cuLinkAddData_v2")                                                             \
  each(LinkComplete, cuLinkComplete, "cuLinkComplete")                                                             \
  each(LinkDestroy, cuLinkDestroy, "cuLinkDestroy")                                                                \
  each(ModuleUnload, cuModuleUnload, "cuModuleUnload")                                                             \
  each(ModuleGetFunction, cuModuleGetFunction, "cuModuleGetFunction")                                              \
  each(FuncGetAttribute, cuFuncGetAttribute, "cuFuncGetAttribute")                                                 \
  each(LaunchKernel, cuLaunchKernel, "cuLaunchKernel")

// Lists the driver's functions that may be missing: cuFuncGetParamInfo exists since CUDA 12.4. Without it the
// parameters of a launch are not checked against the kernel's. cuDeviceGetUuid_v2 exists since CUDA 11.4. Without it the
// slices of a device (MIG) are not recognized.
#define VECTIS_DRIVER_OPTIONAL_FUNCTIONS(each)                                                                     \
  each(FuncGetParamInfo, cuFuncGetParamInfo, "cuFuncGetParamInfo")                                                 \
  each(DeviceGetUuid, cuDeviceGetUuid, "cuDeviceGetUuid")                                                          \
  each(DeviceGetUuidOfSlice, cuDeviceGetUuid, "cuDeviceGetUuid_v2")

// The type of NVRTC's result codes. NVRTC's interface is declared in this file, because the package of cuda.h does
// not contain its header.
using CompilerCode = int;
using CompilerProgram = ::_nvrtcProgram*;
#define VECTIS_COMPILER_FUNCTIONS(each)                                                                            \
  each(Version, CompilerCode (*)(int*, int*), "nvrtcVersion")                                                      \
  each(CreateProgram, CompilerCode (*)(CompilerProgram*, const char*, const char*, int, const char* const*,        \
                                       const char* const*), "nvrtcCreateProgram")                                  \
  each(DestroyProgram, CompilerCode (*)(CompilerProgram*), "nvrtcDestroyProgram")                                  \
  each(CompileProgram, CompilerCode (*)(CompilerProgram, int, const char* const*), "nvrtcCompileProgram")          \
  each(GetProgramLogSize, CompilerCode (*)(CompilerProgram, std::size_t*), "nvrtcGetProgramLogSize")               \
  each(GetProgramLog, CompilerCode (*)(CompilerProgram, char*), "nvrtcGetProgramLog")                              \
  each(GetErrorString, const char* (*)(CompilerCode), "nvrtcGetErrorString")                                       \
  each(GetCubinSize, CompilerCode (*)(CompilerProgram, std::size_t*), "nvrtcGetCUBINSize")                         \
  each(GetCubin, CompilerCode (*)(CompilerProgram, char*), "nvrtcGetCUBIN")                                        \
  each(GetPtxSize, CompilerCode (*)(CompilerProgram, std::size_t*), "nvrtcGetPTXSize")                             \
  each(GetPtx, CompilerCode (*)(CompilerProgram, char*), "nvrtcGetPTX")                                            \
  each(GetNumSupportedArchs, CompilerCode (*)(int*), "nvrtcGetNumSupportedArchs")                                  \
  each(GetSupportedArchs, CompilerCode (*)(int*), "nvrtcGetSupportedArchs")
// clang-format on

inline constexpr CompilerCode compiler_ok = 0;
inline constexpr CompilerCode compiler_rejects_options = 5;
inline constexpr CompilerCode compiler_rejects_text = 6;

inline constexpr const char* backend_name = "cuda";
inline constexpr const char* backend_title = "the CUDA backend";
inline constexpr const char* backend_requirement = "an NVIDIA driver for CUDA 11.2 or newer";
inline constexpr const char* backend_install =
    "Install NVIDIA's driver; vectis doctor then names the NVRTC that fits this driver.";
inline constexpr const char* device_vendor = "NVIDIA";
inline constexpr const char* device_language = "cuda-c++";
inline constexpr const char* driver_title = "CUDA";
inline constexpr std::array driver_libraries = {"libcuda.so.1"};
inline constexpr const char* compiler_title = "NVRTC";
inline constexpr const char* no_device_advice =
    ": the driver finds no device; check nvidia-smi, the variable CUDA_VISIBLE_DEVICES, and in a container that it was "
    "started with its devices (--gpus all)";

inline constexpr unsigned stream_flags = CU_STREAM_NON_BLOCKING;
inline constexpr Attribute attribute_block_items = CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
inline constexpr std::array attribute_block_size = {
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
inline constexpr Attribute attribute_shared_bytes = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
inline constexpr Attribute attribute_compute_units = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
inline constexpr Attribute attribute_major = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
inline constexpr Attribute attribute_minor = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
inline constexpr Attribute attribute_integrated = CU_DEVICE_ATTRIBUTE_INTEGRATED;
inline constexpr CUfunction_attribute function_block_items = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;

inline constexpr unsigned pinned_flags = CU_MEMHOSTALLOC_PORTABLE;
// A thread that waits for an event sleeps: work before it may take long, and the driver spins otherwise.
inline constexpr unsigned event_flags = CU_EVENT_BLOCKING_SYNC;
inline constexpr unsigned event_without_timing = CU_EVENT_DISABLE_TIMING;

// Returns the device address `bytes` bytes behind `address`. Does not throw. Unchecked precondition: the result lies
// inside the same allocation.
inline Address offset_address(Address address, std::uint64_t bytes) { return address + bytes; }

// Returns the host address `host` in the type that the driver's copy functions take: const in CUDA, not in HIP. Does
// not throw.
inline const void* copy_source(const void* host) { return host; }

}  // namespace vectis::cuda_hip
