#include <memory>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

VectisStatus stream_create(VectisContext* context, VectisStream** stream, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    *stream = new VectisStream{*context, {context->gpu, context->groups}};
    return VECTIS_OK;
  });
}

void stream_destroy(VectisStream* stream) noexcept {
  try {
    stream->context.gpu.wait(stream->recorder.flush());
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody is left to be told
  }
  delete stream;
}

VectisStatus stream_synchronize(VectisStream* stream, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    stream->context.gpu.wait(stream->recorder.flush());
    return VECTIS_OK;
  });
}

// An event's work was handed over when it was recorded, and the one queue keeps the order.
VectisStatus stream_wait_event(VectisStream* stream, VectisEvent*, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    stream->context.gpu.check();
    return VECTIS_OK;
  });
}

}  // namespace vectis::webgpu
