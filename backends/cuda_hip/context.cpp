// Contexts, their memory and pinned host memory.
#include <memory>
#include <string>

#include "backends/plugin/devices.hpp"
#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::plugin {

using namespace cuda_hip;

void context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context) {
  const ListedDevice& device = device_at(state->devices, index);
  try {
    auto created = std::unique_ptr<VectisContext>(new VectisContext{state->api,
                                                                    state->compiler,
                                                                    device,
                                                                    state->blas_library,
                                                                    state->driver_version,
                                                                    {state->api, device.id},
                                                                    EventClock(state->api)});
    const CurrentContext current(created->api, created->context.get());
    created->clock.start();
    *context = created.release();
  } catch (const Failure& failure) {
    if (failure.status() != VECTIS_DRIVER_FAILURE) throw;
    throw Failure(VECTIS_BACKEND_CREATION, failure.what());
  }
}

void context_destroy(VectisContext* context) noexcept {
  in_context(*context, [&] {
    context->blas.reset();
    context->clock.close();
  });
  delete context;
}

void memory_allocate(VectisContext* context, std::uint64_t bytes, VectisMemory** memory) {
  const Api& api = context->api;
  const CurrentContext current(api, context->context.get());
  Address address{};
  const Code code = api.MemAlloc(&address, round_up_to_word(bytes));
  if (static_cast<int>(code) != 0) {
    throw failed_call(api, std::string(symbol_of_MemAlloc) + " of " + std::to_string(bytes) + " bytes", code);
  }
  UniqueHandle owner(address, api.MemFree);
  *memory = std::make_unique<VectisMemory>(*context, address, false).release();
  owner.release();
}

void memory_slice(VectisMemory* memory, std::uint64_t offset, std::uint64_t, VectisMemory** slice) {
  *slice = std::make_unique<VectisMemory>(memory->owner, offset_address(memory->address, offset), true).release();
}

void memory_free(VectisContext* context, VectisMemory* memory) noexcept {
  if (!memory->is_slice) {
    in_context(*context, [&] {
      context->streams.wait(context->api);  // the driver does not promise that a free waits
      static_cast<void>(context->api.MemFree(memory->address));
    });
  }
  delete memory;
}

void host_allocate(VectisContext* context, std::uint64_t bytes, void** address) {
  const Api& api = context->api;
  const CurrentContext current(api, context->context.get());
  void* allocated = nullptr;
  VECTIS_CALL(api, MemHostAlloc, &allocated, bytes, pinned_flags);
  *address = allocated;
}

void host_free(VectisContext* context, void* address) noexcept {
  in_context(*context, [&] {
    context->streams.wait(context->api);
    static_cast<void>(context->api.MemFreeHost(address));
  });
}

}  // namespace vectis::plugin
