#include <memory>

#include "api.hpp"
#include "discovery.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::opencl {

VectisStatus open(const VectisHost* host, VectisBackendState** state, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    try {
      const Host services(*host);
      auto opened = std::unique_ptr<VectisBackendState>(
          new VectisBackendState{services, load_api(services), Clblast(services), {}});
      find_devices(*opened);
      add_sub_devices(*opened);
      *state = opened.release();
      return VECTIS_OK;
    } catch (const Failure& failure) {
      if (failure.reason() != VECTIS_REASON_NONE) throw;
      throw Failure(VECTIS_BACKEND_CREATION, failure.what(), VECTIS_REASON_OTHER);
    }
  });
}

void close(VectisBackendState* state) noexcept { delete state; }

}  // namespace vectis::opencl
