// Contexts and their memory.
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "backends/plugin/devices.hpp"
#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::opencl {

namespace {

VectisStatus context_status(cl_int code) {
  const VectisStatus status = status_of(code);
  return status == VECTIS_DRIVER_FAILURE ? VECTIS_BACKEND_CREATION : status;
}

// Drivers use different codes for memory that cannot be allocated.
VectisStatus buffer_status(cl_int code) {
  return code == CL_OUT_OF_RESOURCES || code == CL_INVALID_BUFFER_SIZE ? VECTIS_ALLOCATION : status_of(code);
}

constexpr auto release_poll_interval = std::chrono::microseconds(200);
constexpr int release_polls_max = 5000;  // one second

// Waits until the driver holds no reference to the context. PoCL's threads still access the device of commands that
// have finished, and a sub-device must not be released before them.
void wait_until_unreferenced(const VectisContext& context) noexcept {
  for (int i = 0; i < release_polls_max; ++i) {
    cl_uint references = 0;
    const cl_int code = context.api.GetContextInfo(context.context.get(), CL_CONTEXT_REFERENCE_COUNT, sizeof references,
                                                   &references, nullptr);
    if (code != CL_SUCCESS || references <= 1) return;
    std::this_thread::sleep_for(release_poll_interval);
  }
}

}  // namespace

}  // namespace vectis::opencl

namespace vectis::plugin {

using namespace opencl;

void context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context) {
  const Api& api = state->api;
  const ListedDevice& device = device_at(state->devices, index);
  const std::array properties{static_cast<cl_context_properties>(CL_CONTEXT_PLATFORM),
                              reinterpret_cast<cl_context_properties>(device.platform), cl_context_properties{0}};
  cl_int code = CL_SUCCESS;
  Owned<cl_context> created(api.CreateContext(properties.data(), 1, &device.id, nullptr, nullptr, &code),
                            api.ReleaseContext);
  if (code != CL_SUCCESS) throw failed_call("clCreateContext", code, context_status(code));
  *context = std::make_unique<VectisContext>(api, state->clblast, device.id, device.sub_device.get() != nullptr,
                                             std::move(created))
                 .release();
}

void context_destroy(VectisContext* context) noexcept {
  if (context->on_sub_device) wait_until_unreferenced(*context);
  delete context;
}

void memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory) {
  const Api& api = context->api;
  cl_int code = CL_SUCCESS;
  Owned<cl_mem> created(
      api.CreateBuffer(context->context.get(), CL_MEM_READ_WRITE, round_up_to_word(bytes), nullptr, &code),
      api.ReleaseMemObject);
  if (code != CL_SUCCESS) {
    throw failed_call("clCreateBuffer of " + std::to_string(bytes) + " bytes", code, buffer_status(code));
  }
  *memory = std::make_unique<VectisMemory>(api, std::move(created)).release();
}

void memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice) {
  const Api& api = memory->api;
  const cl_buffer_region region{offset, round_up_to_word(bytes)};
  cl_int code = CL_SUCCESS;
  Owned<cl_mem> created(
      api.CreateSubBuffer(memory->buffer.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code),
      api.ReleaseMemObject);
  if (code != CL_SUCCESS) throw failed_call("clCreateSubBuffer", code, buffer_status(code));
  *slice = std::make_unique<VectisMemory>(api, std::move(created)).release();
}

// OpenCL keeps a released buffer until the commands that use it have ended.
void memory_free(VectisContext*, VectisMemory* memory) noexcept { delete memory; }

}  // namespace vectis::plugin
