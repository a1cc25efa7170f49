// The OpenCL backend's table.
#include "vectis/device/backend.h"

#include "slots.hpp"

namespace {

namespace opencl = vectis::opencl;

constexpr VectisBackend make_table() {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = "opencl";
  table.version = "0.1.0";
  table.requirement = "an OpenCL 1.2 driver and its loader libOpenCL.so.1";
  table.install = "Install the OpenCL loader (ocl-icd-libopencl1) and your GPU vendor's OpenCL driver.";
  table.open = opencl::open;
  table.close = opencl::close;
  table.device_count = opencl::device_count;
  table.device_info = opencl::device_info;
  table.context_create = opencl::context_create;
  table.context_destroy = opencl::context_destroy;
  table.memory_allocate = opencl::memory_allocate;
  table.memory_free = opencl::memory_free;
  table.memory_slice = opencl::memory_slice;
  table.stream_create = opencl::stream_create;
  table.stream_destroy = opencl::stream_destroy;
  table.stream_synchronize = opencl::stream_synchronize;
  table.copy_to_device = opencl::copy_to_device;
  table.copy_to_host = opencl::copy_to_host;
  table.copy_on_device = opencl::copy_on_device;
  table.fill = opencl::fill;
  table.event_create = opencl::event_create;
  table.event_destroy = opencl::event_destroy;
  table.event_record = opencl::event_record;
  table.event_query = opencl::event_query;
  table.event_synchronize = opencl::event_synchronize;
  table.stream_wait_event = opencl::stream_wait_event;
  table.event_timestamp = opencl::event_timestamp;
  table.program_create = opencl::program_create;
  table.program_destroy = opencl::program_destroy;
  table.kernel_create = opencl::kernel_create;
  table.kernel_destroy = opencl::kernel_destroy;
  table.launch = opencl::launch;
  table.program_binary = opencl::program_binary;
  table.run_op = opencl::run_op;
  return table;
}

constexpr VectisBackend table = make_table();

}  // namespace

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &table; }
