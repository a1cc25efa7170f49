// How slots that cannot fail get their context.
#pragma once

#include "objects.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

// Runs `body` with the context current. When the driver does not give it at first it is asked once more; after that the
// object stays for the end of the context.
template <class Body>
void in_context(const VectisContext& owner, Body&& body) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      const Current current(owner.api, owner.context.get());
      body();
      return;
    } catch (...) {
      continue;
    }
  }
}

}  // namespace vectis::cuda_hip
