#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "api.hpp"
#include "discovery.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    try {
      const Host services(*host);
      auto opened =
          std::unique_ptr<VectisBackendState>(new VectisBackendState{services, load_api(services), {}, {}, {}, {}});
      find_adapters(*opened);
      *state = opened.release();
      return VECTIS_OK;
    } catch (const Failure& failure) {
      if (failure.reason() != VECTIS_REASON_NONE) throw;
      throw Failure(VECTIS_BACKEND_CREATION, failure.what(), VECTIS_REASON_OTHER);
    }
  });
}

void close(VectisBackendState* state) noexcept { delete state; }

// The one key is `lose`: every context of the device with this number loses it, as when a driver fails.
VectisStatus configure(VectisBackendState* state, const char* key, const char* value, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    if (std::string_view(key) != "lose") {
      throw Failure(VECTIS_INVALID_INPUT, std::string("there is no key '") + key + "', there is: lose");
    }
    std::uint32_t index = 0;
    const char* end = value + std::strlen(value);
    const auto [stopped, error] = std::from_chars(value, end, index);
    if (error != std::errc() || stopped != end) {
      throw Failure(VECTIS_INVALID_INPUT, std::string("lose takes a device's number, not '") + value + "'");
    }
    adapter_at(*state, index);
    const std::lock_guard lock(state->mutex);
    for (VectisContext* context : state->contexts) {
      if (context->index == index) context->gpu.lose();
    }
    return VECTIS_OK;
  });
}

}  // namespace vectis::webgpu
