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

constexpr std::uint64_t commit_bytes_min = std::uint64_t{64} << 20U;  // from here on a failure must come early

// Makes the driver allocate the memory of a new buffer, by a command that uses it. Drivers of GPUs otherwise allocate
// at the first use, and a launch would fail for lack of memory.
void commit(const VectisContext& context, cl_mem buffer, std::uint64_t bytes) {
  const Api& api = context.api;
  const auto check_commit = [&](cl_int code, const char* call) {
    if (code == CL_SUCCESS) return;
    throw failed_call(std::string(call) + " into a new buffer of " + std::to_string(bytes) + " bytes", code,
                      buffer_status(code));
  };
  cl_int code = CL_SUCCESS;
  const Owned<cl_command_queue> queue(api.CreateCommandQueue(context.context.get(), context.device, 0, &code),
                                      api.ReleaseCommandQueue);
  check_commit(code, "clCreateCommandQueue");
  constexpr cl_uint zero = 0;
  cl_event filled = nullptr;
  code = api.EnqueueFillBuffer(queue.get(), buffer, &zero, sizeof zero, 0, sizeof zero, 0, nullptr, &filled);
  check_commit(code, "clEnqueueFillBuffer");
  const Owned<cl_event> event(filled, api.ReleaseEvent);
  check_commit(api.Finish(queue.get()), "clFinish after clEnqueueFillBuffer");
  cl_int status = CL_COMPLETE;
  check_commit(api.GetEventInfo(filled, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
               "clGetEventInfo after clEnqueueFillBuffer");
  check_commit(status, "a command enqueued by clEnqueueFillBuffer");
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
  *context = std::make_unique<VectisContext>(api, state->clblast, device.id, (device.type & CL_DEVICE_TYPE_CPU) != 0,
                                             device.sub_device.get() != nullptr, std::move(created))
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
  if (bytes >= commit_bytes_min && !context->on_cpu) commit(*context, created.get(), bytes);
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
