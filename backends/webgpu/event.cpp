#include <memory>

#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::webgpu {

VectisStatus event_create(VectisContext* context, VectisEvent** event, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    *event = new VectisEvent{*context};
    return VECTIS_OK;
  });
}

void event_destroy(VectisEvent* event) noexcept { delete event; }

VectisStatus event_record(VectisEvent* event, VectisStream* stream, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    event->place.store(stream->recorder.flush(), std::memory_order_release);
    return VECTIS_OK;
  });
}

VectisStatus event_query(VectisEvent* event, VectisMessage* message) noexcept {
  return guarded(message, [&]() -> VectisStatus {
    return event->context.gpu.passed(event->place.load(std::memory_order_acquire)) ? VECTIS_OK : VECTIS_NOT_READY;
  });
}

VectisStatus event_synchronize(VectisEvent* event, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    event->context.gpu.wait(event->place.load(std::memory_order_acquire));
    return VECTIS_OK;
  });
}

}  // namespace vectis::webgpu
