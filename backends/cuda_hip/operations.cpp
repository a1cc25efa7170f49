// Operations that the vendor's library does better than the portable kernels.
#include <string_view>

#include "current.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

namespace {

const Blas& blas_of(const VectisContext& context, const BlasLibrary& library) {
  const std::lock_guard lock(context.blas_mutex);
  if (context.blas == nullptr) context.blas = library.create();
  return *context.blas;
}

}  // namespace

VectisStatus run_op(VectisStream* stream, const VectisOpCall* call, VectisMessage* message) noexcept {
  if (std::string_view(call->name) != "matmul") return VECTIS_UNSUPPORTED;
  const BlasLibrary* library = stream->owner.blas_source.get();
  if (library == nullptr) return VECTIS_UNSUPPORTED;
  return guarded(message, [&] {
    const Current current(stream->owner.api, stream->owner.context.get());
    blas_of(stream->owner, *library).multiply(*stream, *call);
    return VECTIS_OK;
  });
}

}  // namespace vectis::cuda_hip
