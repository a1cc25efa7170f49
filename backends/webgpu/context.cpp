#include <algorithm>
#include <memory>

#include "discovery.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

VectisStatus context_create(VectisBackendState* state, std::uint32_t index, VectisContext** context,
                            VectisMessage* message) noexcept {
  return guarded(message, [&] {
    auto made = std::make_unique<VectisContext>(*state, index, adapter_at(*state, index));
    const std::lock_guard lock(state->mutex);
    state->contexts.push_back(made.get());
    *context = made.release();
    return VECTIS_OK;
  });
}

void context_destroy(VectisContext* context) noexcept {
  {
    const std::lock_guard lock(context->state.mutex);
    std::erase(context->state.contexts, context);
  }
  delete context;
}

}  // namespace vectis::webgpu
