// libcuda.so.1: the functions of CUDA's driver API that the plug-in calls.
#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "driver.hpp"
#include "ptx.hpp"

namespace {

using namespace vectis::test_driver;  // NOLINT(google-build-using-namespace): the whole file stands on it

// Runs a body with the driver locked.
template <class Body>
CUresult api(const char* function, Body&& body, bool releasing = false) {
  return static_cast<CUresult>(entered(
      function,
      [&] {
        Driver& driver = Driver::get();
        const std::lock_guard lock(driver.mutex);
        const Timeline::Call call(driver.timeline);
        body(driver);
      },
      releasing));
}

template <class Body>
CUresult device_api(const char* function, Body&& body) {
  return api(function, [&](Driver& driver) {
    driver.need_initialized();
    body(driver);
  });
}

struct Named {
  CUresult code;
  const char* name;
};
constexpr std::array names = {
    Named{CUDA_SUCCESS, "CUDA_SUCCESS"},
    Named{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    Named{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    Named{CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"},
    Named{CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    Named{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    Named{CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
    Named{CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    Named{CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    Named{CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
    Named{CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    Named{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    Named{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    Named{CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    Named{CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
    Named{CUDA_ERROR_SYSTEM_NOT_READY, "CUDA_ERROR_SYSTEM_NOT_READY"},
    Named{CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"},
    Named{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
    Named{CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

int driver_version() { return static_cast<int>(Control::get().setting("version", CUDA_VERSION)); }

int attribute(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return static_cast<int>(Limits::group_items);
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return static_cast<int>(Limits::group_z);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return static_cast<int>(Limits::shared_bytes);
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return Limits::compute_units;
    case CU_DEVICE_ATTRIBUTE_INTEGRATED:
      return static_cast<int>(Control::get().setting("integrated", 0));
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return Driver::architecture() / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return Driver::architecture() % 10;
    default:
      refuse(1, "attribute " + std::to_string(static_cast<int>(which)) + ", which this driver does not know");
  }
}

// Handles are the addresses of the driver's objects.
template <class Handle, class Object>
Handle handle_of(Object* object) {
  return reinterpret_cast<Handle>(object);
}

}  // namespace

#define VTD_EXPORT extern "C" __attribute__((visibility("default")))

VTD_EXPORT CUresult cuInit(unsigned flags) {
  return api("cuInit", [&](Driver& driver) {
    if (flags != 0) refuse(1, "cuInit with flags");
    if (const auto code = Control::get().setting("init", 0); code != 0) throw Refusal{static_cast<int>(code)};
    driver.initialize();
  });
}

VTD_EXPORT CUresult cuDriverGetVersion(int* version) {
  return api("cuDriverGetVersion", [&](Driver&) { *version = driver_version(); });
}

VTD_EXPORT CUresult cuGetErrorName(CUresult code, const char** name) {
  const auto* found = std::find_if(names.begin(), names.end(), [&](const Named& each) { return each.code == code; });
  if (found == names.end()) return CUDA_ERROR_INVALID_VALUE;
  *name = found->name;
  return CUDA_SUCCESS;
}

VTD_EXPORT CUresult cuDeviceGetCount(int* count) {
  return device_api("cuDeviceGetCount", [&](Driver&) { *count = Driver::device_count(); });
}

VTD_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return device_api("cuDeviceGet", [&](Driver&) {
    Driver::need_device(ordinal);
    *device = ordinal;
  });
}

VTD_EXPORT CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return device_api("cuDeviceGetName", [&](Driver&) {
    Driver::need_device(device);
    std::snprintf(name, static_cast<std::size_t>(length), "Test GPU %d", device);
  });
}

VTD_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return device_api("cuDeviceGetAttribute", [&](Driver&) {
    Driver::need_device(device);
    *value = attribute(which);
  });
}

VTD_EXPORT CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  return device_api("cuDeviceTotalMem_v2", [&](Driver&) {
    Driver::need_device(device);
    *bytes = Driver::device_bytes();
  });
}

VTD_EXPORT CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return device_api("cuDeviceGetPCIBusId", [&](Driver&) {
    Driver::need_device(device);
    std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  });
}

// The UUID of a device has its number in each byte, that of its slice 0xA0 more.
#undef cuDeviceGetUuid
VTD_EXPORT CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return device_api("cuDeviceGetUuid", [&](Driver&) {
    Driver::need_device(device);
    std::memset(uuid->bytes, device, sizeof uuid->bytes);
  });
}

VTD_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return device_api("cuDeviceGetUuid_v2", [&](Driver&) {
    Driver::need_device(device);
    const int slice = Control::get().setting("mig", 0) != 0 ? 0xA0 : 0;
    std::memset(uuid->bytes, device + slice, sizeof uuid->bytes);
  });
}

VTD_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return device_api("cuDevicePrimaryCtxRetain",
                    [&](Driver& driver) { *context = handle_of<CUcontext>(&driver.retain(device)); });
}

VTD_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return api("cuDevicePrimaryCtxRelease_v2", [&](Driver& driver) { driver.release(device); }, true);
}

VTD_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return device_api("cuDevicePrimaryCtxGetState", [&](Driver& driver) {
    *flags = 0;
    *active = driver.context_of(device).holders > 0 ? 1 : 0;
  });
}

VTD_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return device_api("cuCtxPushCurrent_v2", [&](Driver& driver) { driver.push(*reinterpret_cast<Context*>(context)); });
}

VTD_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  return api("cuCtxPopCurrent_v2", [&](Driver& driver) { *context = handle_of<CUcontext>(driver.pop()); }, true);
}

VTD_EXPORT CUresult cuCtxSynchronize() {
  return api("cuCtxSynchronize", [](Driver& driver) { driver.synchronize(); });
}

VTD_EXPORT CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return api("cuMemGetInfo_v2", [&](Driver& driver) {
    *free = driver.free_bytes();
    *total = Driver::device_bytes();
  });
}

VTD_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return api("cuMemAlloc_v2", [&](Driver& driver) { *address = driver.allocate(bytes); });
}

VTD_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  return api("cuMemFree_v2", [&](Driver& driver) { driver.free(address); }, true);
}

VTD_EXPORT CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned flags) {
  return api("cuMemHostAlloc", [&](Driver& driver) {
    if (flags != CU_MEMHOSTALLOC_PORTABLE) refuse(1, "pinned memory for one context alone");
    *address = driver.pin(bytes);
  });
}

VTD_EXPORT CUresult cuMemFreeHost(void* address) {
  return api("cuMemFreeHost", [&](Driver& driver) { driver.unpin(address); }, true);
}

VTD_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void* source, std::size_t bytes, CUstream stream) {
  return api("cuMemcpyHtoDAsync_v2", [&](Driver& driver) { driver.copy_to_device(target, source, bytes, stream); });
}

VTD_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  return api("cuMemcpyDtoHAsync_v2", [&](Driver& driver) { driver.copy_to_host(target, source, bytes, stream); });
}

VTD_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  return api("cuMemcpyDtoDAsync_v2", [&](Driver& driver) { driver.copy_on_device(target, source, bytes, stream); });
}

VTD_EXPORT CUresult cuDeviceCanAccessPeer(int* reaches, CUdevice device, CUdevice peer) {
  return device_api("cuDeviceCanAccessPeer", [&](Driver&) { *reaches = Driver::reaches(device, peer) ? 1 : 0; });
}

VTD_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return api("cuCtxEnablePeerAccess", [&](Driver& driver) {
    if (flags != 0) refuse(1, "peer access with flags");
    auto& context = *reinterpret_cast<Context*>(peer);
    if (context.holders == 0) refuse(201, "access to a context nobody holds");
    driver.enable_peer(context);
  });
}

VTD_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from,
                                      std::size_t bytes, CUstream stream) {
  return api("cuMemcpyPeerAsync", [&](Driver& driver) {
    driver.copy_from_peer(target, *reinterpret_cast<Context*>(to), source, *reinterpret_cast<Context*>(from), bytes,
                          stream);
  });
}

VTD_EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t bytes, CUstream stream) {
  return api("cuMemsetD8Async", [&](Driver& driver) { driver.fill(target, value, bytes, stream); });
}

VTD_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return api("cuStreamCreate", [&](Driver& driver) {
    if (flags != CU_STREAM_NON_BLOCKING) refuse(1, "a stream that waits for the default stream");
    *stream = handle_of<CUstream>(driver.create_stream());
  });
}

VTD_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  return api("cuStreamDestroy_v2", [&](Driver& driver) { driver.destroy_stream(stream); }, true);
}

VTD_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  return api("cuStreamSynchronize", [&](Driver& driver) { driver.synchronize_stream(stream); });
}

VTD_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return api("cuStreamWaitEvent", [&](Driver& driver) { driver.wait(stream, event); });
}

VTD_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
  return api("cuEventCreate", [&](Driver& driver) { *event = handle_of<CUevent>(driver.create_event()); });
}

VTD_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  return api("cuEventDestroy_v2", [&](Driver& driver) { driver.destroy_event(event); }, true);
}

VTD_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  return api("cuEventRecord", [&](Driver& driver) { driver.record(event, stream); });
}

VTD_EXPORT CUresult cuEventQuery(CUevent event) {
  return api("cuEventQuery", [&](Driver& driver) { driver.query(event); });
}

VTD_EXPORT CUresult cuEventSynchronize(CUevent event) {
  return api("cuEventSynchronize", [&](Driver& driver) { driver.synchronize_event(event); });
}

#undef cuEventElapsedTime
VTD_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  return api("cuEventElapsedTime", [&](Driver& driver) { *milliseconds = driver.milliseconds(begin, end); });
}

VTD_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return api("cuModuleLoadData", [&](Driver& driver) {
    *module = handle_of<CUmodule>(driver.load(static_cast<const char*>(image), driver_version()));
  });
}

VTD_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                       void** values) {
  return api("cuModuleLoadDataEx", [&](Driver& driver) {
    char* log = nullptr;
    std::size_t room = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
        log = static_cast<char*>(values[i]);
      } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
        room = reinterpret_cast<std::size_t>(values[i]);
      } else {
        refuse(CUDA_ERROR_INVALID_VALUE, "an option of the just-in-time compiler this driver lacks");
      }
    }
    try {
      *module = handle_of<CUmodule>(driver.load(static_cast<const char*>(image), driver_version()));
    } catch (const Refusal& refusal) {
      if (log != nullptr) std::snprintf(log, room, "test driver: no module, code %d", refusal.code);
      throw;
    }
  });
}

// A job of the linker: one text of PTX, compiled to an image of machine code.
struct CUlinkState_st {
  std::string ptx;
  std::string image;
};

VTD_EXPORT CUresult cuLinkCreate_v2(unsigned count, CUjit_option*, void**, CUlinkState* job) {
  return api("cuLinkCreate_v2", [&](Driver& driver) {
    driver.current();
    if (count != 0) refuse(1, "an option of the linker this driver lacks");
    *job = new CUlinkState_st;
    Control::get().count(VECTIS_DRIVER_PROGRAMS, 1);
  });
}

VTD_EXPORT CUresult cuLinkAddData_v2(CUlinkState job, CUjitInputType type, void* data, std::size_t bytes, const char*,
                                     unsigned count, CUjit_option*, void**) {
  return api("cuLinkAddData_v2", [&](Driver& driver) {
    driver.current();
    const char* text = static_cast<const char*>(data);
    if (type != CU_JIT_INPUT_PTX || count != 0 || bytes == 0 || text[bytes - 1] != '\0') {
      refuse(1, "input of the linker that is no whole PTX");
    }
    job->ptx = text;
  });
}

VTD_EXPORT CUresult cuLinkComplete(CUlinkState job, void** code, std::size_t* bytes) {
  return api("cuLinkComplete", [&](Driver& driver) {
    driver.current();
    job->image = assemble_ptx(job->ptx.c_str(), Driver::architecture(), driver_version());
    *code = job->image.data();
    *bytes = job->image.size() + 1;
  });
}

VTD_EXPORT CUresult cuLinkDestroy(CUlinkState job) {
  return api(
      "cuLinkDestroy",
      [&](Driver&) {
        delete job;
        Control::get().count(VECTIS_DRIVER_PROGRAMS, -1);
      },
      true);
}

VTD_EXPORT CUresult cuModuleUnload(CUmodule module) {
  return api("cuModuleUnload", [&](Driver& driver) { driver.unload(module); }, true);
}

VTD_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return api("cuModuleGetFunction",
             [&](Driver& driver) { *function = handle_of<CUfunction>(driver.function(module, name)); });
}

VTD_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  return api("cuFuncGetAttribute", [&](Driver& driver) {
    driver.current();
    if (which != CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) refuse(1, "an attribute of functions this driver lacks");
    *value = static_cast<int>(Driver::kernel(function).group_items_max);
  });
}

VTD_EXPORT CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                                       std::size_t* bytes) {
  return api("cuFuncGetParamInfo", [&](Driver& driver) {
    driver.current();
    const VtdKernel& kernel = Driver::kernel(function);
    if (index >= kernel.parameter_count) throw Refusal{1};
    std::size_t at = 0;
    for (std::size_t i = 0; i <= index; ++i) {
      at = (at + kernel.bytes[i] - 1) / kernel.bytes[i] * kernel.bytes[i];
      if (i < index) at += kernel.bytes[i];
    }
    *offset = at;
    *bytes = kernel.bytes[index];
  });
}

VTD_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned group_x, unsigned group_y, unsigned group_z, unsigned shared_bytes,
                                   CUstream stream, void** parameters, void** extra) {
  return api("cuLaunchKernel", [&](Driver& driver) {
    if (extra != nullptr) refuse(1, "a launch with extra options");
    driver.launch(function, {grid_x, grid_y, grid_z}, {group_x, group_y, group_z}, shared_bytes, stream, parameters);
  });
}
