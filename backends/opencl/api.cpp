#include "api.hpp"

#include <algorithm>
#include <array>

namespace vectis::opencl {

namespace {

constexpr const char* loader_name = "libOpenCL.so.1";

constexpr cl_int illegal_access_nv = -9999;  // NVIDIA: a kernel accessed memory out of bounds; its context is lost

struct NamedCode {
  cl_int code;
  const char* name;
};

#define VECTIS_OPENCL_CODE(name) \
  NamedCode { name, #name }
constexpr std::array code_names{
    VECTIS_OPENCL_CODE(CL_DEVICE_NOT_FOUND),
    VECTIS_OPENCL_CODE(CL_DEVICE_NOT_AVAILABLE),
    VECTIS_OPENCL_CODE(CL_COMPILER_NOT_AVAILABLE),
    VECTIS_OPENCL_CODE(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    VECTIS_OPENCL_CODE(CL_OUT_OF_RESOURCES),
    VECTIS_OPENCL_CODE(CL_OUT_OF_HOST_MEMORY),
    VECTIS_OPENCL_CODE(CL_PROFILING_INFO_NOT_AVAILABLE),
    VECTIS_OPENCL_CODE(CL_MEM_COPY_OVERLAP),
    VECTIS_OPENCL_CODE(CL_BUILD_PROGRAM_FAILURE),
    VECTIS_OPENCL_CODE(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    VECTIS_OPENCL_CODE(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    VECTIS_OPENCL_CODE(CL_COMPILE_PROGRAM_FAILURE),
    VECTIS_OPENCL_CODE(CL_LINKER_NOT_AVAILABLE),
    VECTIS_OPENCL_CODE(CL_LINK_PROGRAM_FAILURE),
    VECTIS_OPENCL_CODE(CL_DEVICE_PARTITION_FAILED),
    VECTIS_OPENCL_CODE(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    VECTIS_OPENCL_CODE(CL_INVALID_VALUE),
    VECTIS_OPENCL_CODE(CL_INVALID_DEVICE_TYPE),
    VECTIS_OPENCL_CODE(CL_INVALID_PLATFORM),
    VECTIS_OPENCL_CODE(CL_INVALID_DEVICE),
    VECTIS_OPENCL_CODE(CL_INVALID_CONTEXT),
    VECTIS_OPENCL_CODE(CL_INVALID_QUEUE_PROPERTIES),
    VECTIS_OPENCL_CODE(CL_INVALID_COMMAND_QUEUE),
    VECTIS_OPENCL_CODE(CL_INVALID_HOST_PTR),
    VECTIS_OPENCL_CODE(CL_INVALID_MEM_OBJECT),
    VECTIS_OPENCL_CODE(CL_INVALID_BINARY),
    VECTIS_OPENCL_CODE(CL_INVALID_BUILD_OPTIONS),
    VECTIS_OPENCL_CODE(CL_INVALID_PROGRAM),
    VECTIS_OPENCL_CODE(CL_INVALID_PROGRAM_EXECUTABLE),
    VECTIS_OPENCL_CODE(CL_INVALID_KERNEL_NAME),
    VECTIS_OPENCL_CODE(CL_INVALID_KERNEL_DEFINITION),
    VECTIS_OPENCL_CODE(CL_INVALID_KERNEL),
    VECTIS_OPENCL_CODE(CL_INVALID_ARG_INDEX),
    VECTIS_OPENCL_CODE(CL_INVALID_ARG_VALUE),
    VECTIS_OPENCL_CODE(CL_INVALID_ARG_SIZE),
    VECTIS_OPENCL_CODE(CL_INVALID_KERNEL_ARGS),
    VECTIS_OPENCL_CODE(CL_INVALID_WORK_DIMENSION),
    VECTIS_OPENCL_CODE(CL_INVALID_WORK_GROUP_SIZE),
    VECTIS_OPENCL_CODE(CL_INVALID_WORK_ITEM_SIZE),
    VECTIS_OPENCL_CODE(CL_INVALID_GLOBAL_OFFSET),
    VECTIS_OPENCL_CODE(CL_INVALID_EVENT_WAIT_LIST),
    VECTIS_OPENCL_CODE(CL_INVALID_EVENT),
    VECTIS_OPENCL_CODE(CL_INVALID_OPERATION),
    VECTIS_OPENCL_CODE(CL_INVALID_BUFFER_SIZE),
    VECTIS_OPENCL_CODE(CL_INVALID_GLOBAL_WORK_SIZE),
    VECTIS_OPENCL_CODE(CL_INVALID_PROPERTY),
    VECTIS_OPENCL_CODE(CL_INVALID_COMPILER_OPTIONS),
    VECTIS_OPENCL_CODE(CL_INVALID_LINKER_OPTIONS),
    VECTIS_OPENCL_CODE(CL_INVALID_DEVICE_PARTITION_COUNT),
    NamedCode{illegal_access_nv, "NVIDIA's code of an illegal memory access"},
};
#undef VECTIS_OPENCL_CODE

}  // namespace

Api load_api(const Host& host) {
  const plugin::Library library = host.open_library(loader_name);
  if (library.handle == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string("the OpenCL loader ") + loader_name + " cannot be opened: " + library.error,
                  VECTIS_REASON_NO_LIBRARY);
  }
  Api api;
  const auto find = [&](const char* symbol, auto& function) {
    if (host.find_symbol(library, symbol, function)) return;
    throw Failure(VECTIS_BACKEND_CREATION,
                  std::string(loader_name) + " has no " + symbol + ": it is older than OpenCL 1.2, which is needed",
                  VECTIS_REASON_DRIVER_TOO_OLD);
  };
#define VECTIS_OPENCL_FIND(name) find("cl" #name, api.name);
  VECTIS_OPENCL_FUNCTIONS(VECTIS_OPENCL_FIND)
#undef VECTIS_OPENCL_FIND
  return api;
}

std::string describe(cl_int code) {
  const auto* found =
      std::find_if(code_names.begin(), code_names.end(), [code](const NamedCode& named) { return named.code == code; });
  if (found == code_names.end()) return "error " + std::to_string(code);
  return std::string(found->name) + " (" + std::to_string(code) + ")";
}

VectisStatus status_of(cl_int code) noexcept {
  switch (code) {
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_CONTEXT:        // contexts and queues are valid when they are passed: the driver
    case CL_INVALID_COMMAND_QUEUE:  // invalidates those of a device that it lost
    case illegal_access_nv:
      return VECTIS_DEVICE_LOST;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_HOST_MEMORY:
      return VECTIS_ALLOCATION;
    case CL_INVALID_KERNEL_NAME:
    case CL_INVALID_BINARY:
    case CL_INVALID_ARG_INDEX:
    case CL_INVALID_ARG_VALUE:
    case CL_INVALID_ARG_SIZE:
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case CL_INVALID_GLOBAL_WORK_SIZE:
      return VECTIS_INVALID_INPUT;
    default:
      return VECTIS_DRIVER_FAILURE;
  }
}

Failure failed_call(const std::string& call, cl_int code) { return failed_call(call, code, status_of(code)); }

Failure failed_call(const std::string& call, cl_int code, VectisStatus status) {
  return {status, call + " failed with " + describe(code)};
}

}  // namespace vectis::opencl
