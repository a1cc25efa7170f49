#include <memory>

#include "current.hpp"
#include "devices.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

VectisStatus context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context,
                            VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const ListedDevice& device = device_at(*state, index);
    try {
      auto made = std::unique_ptr<VectisContext>(new VectisContext{
          state->api, state->compiler, device, state->blas_source, {state->api, device.id}, Clock(state->api)});
      const Current current(made->api, made->context.get());
      made->clock.start();
      *context = made.release();
      return VECTIS_OK;
    } catch (const Failure& failure) {
      if (failure.status() != VECTIS_DRIVER_FAILURE) throw;
      throw Failure(VECTIS_BACKEND_CREATION, failure.what());
    }
  });
}

void context_destroy(VectisContext* context) noexcept {
  in_context(*context, [&] {
    context->blas.reset();
    context->clock.close();
  });
  delete context;
}

}  // namespace vectis::cuda_hip
