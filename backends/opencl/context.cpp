#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "discovery.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::opencl {

namespace {

VectisStatus context_status(cl_int code) {
  const VectisStatus status = status_of(code);
  return status == VECTIS_DRIVER_FAILURE ? VECTIS_BACKEND_CREATION : status;
}

// Drivers differ in the code they give for want of memory.
VectisStatus buffer_status(cl_int code) {
  return code == CL_OUT_OF_RESOURCES || code == CL_INVALID_BUFFER_SIZE ? VECTIS_ALLOCATION : status_of(code);
}

// Kernels reach packed elements through the 32-bit words they lie in: the last word is there as a whole.
std::uint64_t whole_words(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

constexpr auto driver_pause = std::chrono::microseconds(200);
constexpr int driver_pauses_max = 5000;

// Until nobody but us knows the context. PoCL's threads still look at the device of commands that have been waited for,
// and a sub-device does not live as long as they do.
void wait_for_driver(const VectisContext& context) noexcept {
  for (int i = 0; i < driver_pauses_max; ++i) {
    cl_uint owners = 0;
    const cl_int code =
        context.api.GetContextInfo(context.context.get(), CL_CONTEXT_REFERENCE_COUNT, sizeof owners, &owners, nullptr);
    if (code != CL_SUCCESS || owners <= 1) return;
    std::this_thread::sleep_for(driver_pause);
  }
}

}  // namespace

VectisStatus context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context,
                            VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = state->api;
    const ListedDevice& device = device_at(*state, index);
    const std::array properties{static_cast<cl_context_properties>(CL_CONTEXT_PLATFORM),
                                reinterpret_cast<cl_context_properties>(device.platform), cl_context_properties{0}};
    cl_int code = CL_SUCCESS;
    Owned made(api.CreateContext(properties.data(), 1, &device.id, nullptr, nullptr, &code), api.ReleaseContext);
    if (code != CL_SUCCESS) throw failed_call("clCreateContext", code, context_status(code));
    *context =
        std::make_unique<VectisContext>(api, state->clblast, device.id, device.part.get() != nullptr, std::move(made))
            .release();
    return VECTIS_OK;
  });
}

void context_destroy(VectisContext* context) noexcept {
  if (context->on_part) wait_for_driver(*context);
  delete context;
}

VectisStatus memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory,
                             VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = context->api;
    cl_int code = CL_SUCCESS;
    Owned made(api.CreateBuffer(context->context.get(), CL_MEM_READ_WRITE, whole_words(bytes), nullptr, &code),
               api.ReleaseMemObject);
    if (code != CL_SUCCESS) {
      const std::string call = "clCreateBuffer of " + std::to_string(bytes) + " bytes";
      throw failed_call(call.c_str(), code, buffer_status(code));
    }
    *memory = std::make_unique<VectisMemory>(api, std::move(made)).release();
    return VECTIS_OK;
  });
}

VectisStatus memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t bytes, VectisMemory** slice,
                          VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = memory->api;
    const cl_buffer_region region{offset, whole_words(bytes)};
    cl_int code = CL_SUCCESS;
    Owned made(
        api.CreateSubBuffer(memory->buffer.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code),
        api.ReleaseMemObject);
    if (code != CL_SUCCESS) throw failed_call("clCreateSubBuffer", code, buffer_status(code));
    *slice = std::make_unique<VectisMemory>(api, std::move(made)).release();
    return VECTIS_OK;
  });
}

// OpenCL keeps a released buffer until the commands that use it are done.
void memory_free(VectisContext*, VectisMemory* memory) noexcept { delete memory; }

}  // namespace vectis::opencl
