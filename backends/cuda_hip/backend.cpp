// The table of the CUDA backend, or of the HIP backend.
#include "backends/plugin/slots.hpp"
#include "driver.hpp"

namespace vectis::plugin {

const char* const backend_title = cuda_hip::backend_title;

constexpr VectisBackend cuda_hip_table =
    make_table<device_memory, device_utilization, memory_slice, fill, event_timestamp, program_create, program_binary,
               run_op, copy_from_peer, host_allocate>(
        {cuda_hip::backend_name, cuda_hip::backend_requirement, cuda_hip::backend_install});

}  // namespace vectis::plugin

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &vectis::plugin::cuda_hip_table; }
