// libamdhip64.so: the functions of HIP that the plug-in calls, by the same driver. hipRTC is a part of it, as it was
// until ROCm 5.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "driver.hpp"
#include "hip_architecture.hpp"

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

// Runs a body with the driver locked and a device chosen, which HIP does by itself.
template <class Body>
hipError_t api(const char* function, Body&& body, bool releasing = false) {
  return static_cast<hipError_t>(entered(
      function,
      [&] {
        Driver& driver = Driver::get();
        const std::lock_guard lock(driver.mutex);
        const Timeline::Call call(driver.timeline);
        driver.need_initialized();
        driver.chosen_device();
        body(driver);
      },
      releasing));
}

int attribute(hipDeviceAttribute_t which) {
  switch (which) {
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
      return static_cast<int>(Limits::group_items);
    case hipDeviceAttributeMaxBlockDimZ:
      return static_cast<int>(Limits::group_z);
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      return static_cast<int>(Limits::shared_bytes);
    case hipDeviceAttributeMultiprocessorCount:
      return Limits::compute_units;
    case hipDeviceAttributeIntegrated:
      return static_cast<int>(Control::get().setting("integrated", 0));
    case hipDeviceAttributeComputeCapabilityMajor:
      return Driver::architecture() / 10;
    case hipDeviceAttributeComputeCapabilityMinor:
      return Driver::architecture() % 10;
    default:
      refuse(1, "attribute " + std::to_string(static_cast<int>(which)) + ", which this driver does not know");
  }
}

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

// Handles are the addresses of the driver's objects.
template <class Handle, class Object>
Handle handle_of(Object* object) {
  return reinterpret_cast<Handle>(object);
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT hipError_t hipInit(unsigned flags) {
  return static_cast<hipError_t>(entered("hipInit", [&] {
    if (flags != 0) refuse(1, "hipInit with flags");
    if (const auto code = Control::get().setting("init", 0); code != 0) throw Refusal{static_cast<int>(code)};
    Driver& driver = Driver::get();
    const std::lock_guard lock(driver.mutex);
    driver.initialize();
  }));
}

VTD_EXPORT hipError_t hipDriverGetVersion(int* version) {
  return api("hipDriverGetVersion",
             [&](Driver&) { *version = static_cast<int>(Control::get().setting("version", HIP_VERSION)); });
}

VTD_EXPORT const char* hipGetErrorName(hipError_t code) {
  switch (code) {
    case hipErrorOutOfMemory:
      return "hipErrorOutOfMemory";
    case hipErrorNoDevice:
      return "hipErrorNoDevice";
    case hipErrorLaunchFailure:
      return "hipErrorLaunchFailure";
    default:
      return "hipErrorUnknown";
  }
}

VTD_EXPORT hipError_t hipGetDeviceCount(int* count) {
  return api("hipGetDeviceCount", [&](Driver&) {
    *count = Driver::device_count();
    if (*count == 0) throw Refusal{hipErrorNoDevice};
  });
}

VTD_EXPORT hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return api("hipDeviceGet", [&](Driver&) {
    Driver::need_device(ordinal);
    *device = ordinal;
  });
}

VTD_EXPORT hipError_t hipDeviceGetName(char* name, int length, hipDevice_t device) {
  return api("hipDeviceGetName", [&](Driver&) {
    Driver::need_device(device);
    std::snprintf(name, static_cast<std::size_t>(length), "Test GPU %d", device);
  });
}

VTD_EXPORT hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int device) {
  return api("hipDeviceGetAttribute", [&](Driver&) {
    Driver::need_device(device);
    *value = attribute(which);
  });
}

VTD_EXPORT hipError_t hipDeviceTotalMem(std::size_t* bytes, hipDevice_t device) {
  return api("hipDeviceTotalMem", [&](Driver&) {
    Driver::need_device(device);
    *bytes = Driver::device_bytes();
  });
}

VTD_EXPORT hipError_t hipDeviceGetPCIBusId(char* text, int length, int device) {
  return api("hipDeviceGetPCIBusId", [&](Driver&) {
    Driver::need_device(device);
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  });
}

// hipDeviceProp_t in the layout of ROCm 6 and in the older one: all that the plug-in does not read is 0xAB.
namespace {

template <std::size_t Bytes, std::size_t ArchitectureAt>
void describe(void* properties, int device) {
  Driver::need_device(device);
  std::memset(properties, 0xAB, Bytes);
  std::strcpy(static_cast<char*>(properties) + ArchitectureAt, hip_architecture().c_str());
}

}  // namespace

VTD_EXPORT hipError_t hipGetDevicePropertiesR0600(void* properties, int device) {
  return api("hipGetDevicePropertiesR0600", [&](Driver&) { describe<1472, 1160>(properties, device); });
}

// Of the type that the plug-in calls: a layout of the properties belongs to each symbol, and the header has only one.
VTD_EXPORT hipError_t unversioned_device_properties(void* properties, int device) __asm__("hipGetDeviceProperties");
hipError_t unversioned_device_properties(void* properties, int device) {
  return api("hipGetDeviceProperties", [&](Driver&) { describe<792, 396>(properties, device); });
}

VTD_EXPORT hipError_t hipGetDevice(int* device) {
  return api("hipGetDevice", [&](Driver& driver) { *device = driver.chosen_device(); });
}

VTD_EXPORT hipError_t hipSetDevice(int device) {
  return api("hipSetDevice", [&](Driver& driver) { driver.choose_device(device); });
}

VTD_EXPORT hipError_t hipDeviceSynchronize() {
  return api("hipDeviceSynchronize", [](Driver& driver) { driver.synchronize(); });
}

VTD_EXPORT hipError_t hipMemGetInfo(std::size_t* free, std::size_t* total) {
  return api("hipMemGetInfo", [&](Driver& driver) {
    *free = driver.free_bytes();
    *total = Driver::device_bytes();
  });
}

VTD_EXPORT hipError_t hipMalloc(void** address, std::size_t bytes) {
  return api("hipMalloc", [&](Driver& driver) { *address = reinterpret_cast<void*>(driver.allocate(bytes)); });
}

VTD_EXPORT hipError_t hipFree(void* address) {
  return api("hipFree", [&](Driver& driver) { driver.free(number(address)); }, true);
}

VTD_EXPORT hipError_t hipHostMalloc(void** address, std::size_t bytes, unsigned flags) {
  return api("hipHostMalloc", [&](Driver& driver) {
    if (flags != hipHostMallocPortable) refuse(1, "pinned memory for one device alone");
    *address = driver.pin(bytes);
  });
}

VTD_EXPORT hipError_t hipHostFree(void* address) {
  return api("hipHostFree", [&](Driver& driver) { driver.unpin(address); }, true);
}

VTD_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t target, void* source, std::size_t bytes, hipStream_t stream) {
  return api("hipMemcpyHtoDAsync",
             [&](Driver& driver) { driver.copy_to_device(number(target), source, bytes, stream); });
}

VTD_EXPORT hipError_t hipMemcpyDtoHAsync(void* target, hipDeviceptr_t source, std::size_t bytes, hipStream_t stream) {
  return api("hipMemcpyDtoHAsync", [&](Driver& driver) { driver.copy_to_host(target, number(source), bytes, stream); });
}

VTD_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t target, hipDeviceptr_t source, std::size_t bytes,
                                         hipStream_t stream) {
  return api("hipMemcpyDtoDAsync",
             [&](Driver& driver) { driver.copy_on_device(number(target), number(source), bytes, stream); });
}

VTD_EXPORT hipError_t hipDeviceCanAccessPeer(int* reaches, int device, int peer) {
  return api("hipDeviceCanAccessPeer", [&](Driver&) { *reaches = Driver::reaches(device, peer) ? 1 : 0; });
}

VTD_EXPORT hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api("hipDeviceEnablePeerAccess", [&](Driver& driver) {
    if (flags != 0) refuse(1, "peer access with flags");
    driver.enable_peer(driver.context_of(peer));
  });
}

VTD_EXPORT hipError_t hipMemcpyPeerAsync(void* target, int to, const void* source, int from, std::size_t bytes,
                                         hipStream_t stream) {
  return api("hipMemcpyPeerAsync", [&](Driver& driver) {
    driver.copy_from_peer(number(target), driver.context_of(to), number(source), driver.context_of(from), bytes,
                          stream);
  });
}

VTD_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t target, unsigned char value, std::size_t bytes,
                                       hipStream_t stream) {
  return api("hipMemsetD8Async", [&](Driver& driver) { driver.fill(number(target), value, bytes, stream); });
}

VTD_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
  return api("hipStreamCreateWithFlags", [&](Driver& driver) {
    if (flags != hipStreamNonBlocking) refuse(1, "a stream that waits for the default stream");
    *stream = handle_of<hipStream_t>(driver.create_stream());
  });
}

VTD_EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  return api("hipStreamDestroy", [&](Driver& driver) { driver.destroy_stream(stream); }, true);
}

VTD_EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) {
  return api("hipStreamSynchronize", [&](Driver& driver) { driver.synchronize_stream(stream); });
}

VTD_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return api("hipStreamWaitEvent", [&](Driver& driver) { driver.wait(stream, event); });
}

VTD_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  return api("hipEventCreateWithFlags", [&](Driver& driver) { *event = handle_of<hipEvent_t>(driver.create_event()); });
}

VTD_EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  return api("hipEventDestroy", [&](Driver& driver) { driver.destroy_event(event); }, true);
}

VTD_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return api("hipEventRecord", [&](Driver& driver) { driver.record(event, stream); });
}

VTD_EXPORT hipError_t hipEventQuery(hipEvent_t event) {
  return api("hipEventQuery", [&](Driver& driver) { driver.query(event); });
}

VTD_EXPORT hipError_t hipEventSynchronize(hipEvent_t event) {
  return api("hipEventSynchronize", [&](Driver& driver) { driver.synchronize_event(event); });
}

VTD_EXPORT hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t begin, hipEvent_t end) {
  return api("hipEventElapsedTime", [&](Driver& driver) { *milliseconds = driver.milliseconds(begin, end); });
}

VTD_EXPORT hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return api("hipModuleLoadData", [&](Driver& driver) {
    *module = handle_of<hipModule_t>(driver.load(static_cast<const char*>(image), 0));
  });
}

VTD_EXPORT hipError_t hipModuleUnload(hipModule_t module) {
  return api("hipModuleUnload", [&](Driver& driver) { driver.unload(module); }, true);
}

VTD_EXPORT hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return api("hipModuleGetFunction",
             [&](Driver& driver) { *function = handle_of<hipFunction_t>(driver.function(module, name)); });
}

VTD_EXPORT hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute which, hipFunction_t function) {
  return api("hipFuncGetAttribute", [&](Driver& driver) {
    driver.current();
    if (which != HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) refuse(1, "an attribute of functions this driver lacks");
    *value = static_cast<int>(Driver::kernel(function).group_items_max);
  });
}

VTD_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                            unsigned group_x, unsigned group_y, unsigned group_z, unsigned shared_bytes,
                                            hipStream_t stream, void** parameters, void** extra) {
  return api("hipModuleLaunchKernel", [&](Driver& driver) {
    if (extra != nullptr) refuse(1, "a launch with extra options");
    driver.launch(function, {grid_x, grid_y, grid_z}, {group_x, group_y, group_z}, shared_bytes, stream, parameters);
  });
}
