// The table of the CUDA backend, or of the HIP backend.
#include "vectis/device/backend.h"

#include "driver.hpp"
#include "slots.hpp"

namespace {

namespace slots = vectis::cuda_hip;

constexpr VectisBackend make_table() {
  VectisBackend table{};
  table.size = sizeof(VectisBackend);
  table.abi_major = VECTIS_ABI_MAJOR;
  table.abi_minor = VECTIS_ABI_MINOR;
  table.name = slots::backend_name;
  table.version = "0.1.0";
  table.requirement = slots::backend_requirement;
  table.install = slots::backend_install;
  table.open = slots::open;
  table.close = slots::close;
  table.device_count = slots::device_count;
  table.device_info = slots::device_info;
  table.device_memory = slots::device_memory;
  table.device_utilization = slots::device_utilization;
  table.context_create = slots::context_create;
  table.context_destroy = slots::context_destroy;
  table.memory_allocate = slots::memory_allocate;
  table.memory_free = slots::memory_free;
  table.memory_slice = slots::memory_slice;
  table.stream_create = slots::stream_create;
  table.stream_destroy = slots::stream_destroy;
  table.stream_synchronize = slots::stream_synchronize;
  table.copy_to_device = slots::copy_to_device;
  table.copy_to_host = slots::copy_to_host;
  table.copy_on_device = slots::copy_on_device;
  table.fill = slots::fill;
  table.event_create = slots::event_create;
  table.event_destroy = slots::event_destroy;
  table.event_record = slots::event_record;
  table.event_query = slots::event_query;
  table.event_synchronize = slots::event_synchronize;
  table.stream_wait_event = slots::stream_wait_event;
  table.event_timestamp = slots::event_timestamp;
  table.program_create = slots::program_create;
  table.program_destroy = slots::program_destroy;
  table.kernel_create = slots::kernel_create;
  table.kernel_destroy = slots::kernel_destroy;
  table.launch = slots::launch;
  table.program_binary = slots::program_binary;
  table.run_op = slots::run_op;
  table.copy_from_peer = slots::copy_from_peer;
  table.host_allocate = slots::host_allocate;
  table.host_free = slots::host_free;
  return table;
}

constexpr VectisBackend table = make_table();

}  // namespace

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &table; }
