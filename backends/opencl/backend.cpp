// The OpenCL backend: its table, opening and closing.
#include <memory>

#include "backends/plugin/slots.hpp"
#include "devices.hpp"
#include "objects.hpp"

namespace vectis::plugin {

using namespace opencl;

const char* const backend_title = "the OpenCL backend";

std::string open(const VectisHost* host, VectisBackendState** state) {
  const Host services(*host);
  auto opened =
      std::unique_ptr<VectisBackendState>(new VectisBackendState{services, load_api(services), Clblast(services), {}});
  find_devices(*opened);
  add_sub_devices(*opened);
  *state = opened.release();
  return {};
}

void close(VectisBackendState* state) noexcept { delete state; }

constexpr VectisBackend opencl_table =
    make_table<memory_slice, fill, event_timestamp, program_create, program_binary, run_op>(
        {"opencl", "an OpenCL 1.2 driver and its loader libOpenCL.so.1",
         "Install the OpenCL loader (ocl-icd-libopencl1) and your GPU vendor's OpenCL driver."});

}  // namespace vectis::plugin

extern "C" VECTIS_PLUGIN_EXPORT const VectisBackend* vectis_backend_entry() { return &vectis::plugin::opencl_table; }
