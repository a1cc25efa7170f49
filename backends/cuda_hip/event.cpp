#include <memory>

#include "current.hpp"
#include "objects.hpp"
#include "slots.hpp"
#include "status.hpp"

namespace vectis::cuda_hip {

VectisStatus event_create(VectisContext* context, VectisEvent** event, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = context->api;
    const Current current(api, context->context.get());
    EventHandle handle{};
    VECTIS_CALL(api, EventCreate, &handle, 0);
    Guard made(handle, api.EventDestroy);
    *event = std::make_unique<VectisEvent>(*context, handle).release();
    made.give();
    return VECTIS_OK;
  });
}

void event_destroy(VectisEvent* event) noexcept {
  in_context(event->owner, [&] { static_cast<void>(event->owner.api.EventDestroy(event->handle)); });
  delete event;
}

VectisStatus event_record(VectisEvent* event, VectisStream* stream, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = event->owner.api;
    const Current current(api, event->owner.context.get());
    VECTIS_CALL(api, EventRecord, event->handle, stream->handle);
    event->recorded = true;
    return VECTIS_OK;
  });
}

VectisStatus event_query(VectisEvent* event, VectisMessage* message) noexcept {
  return guarded(message, [&]() -> VectisStatus {
    const Api& api = event->owner.api;
    const Current current(api, event->owner.context.get());
    const Code code = api.EventQuery(event->handle);
    if (static_cast<int>(code) == code_not_ready) return VECTIS_NOT_READY;
    check(api, code, symbol_of_EventQuery);
    return VECTIS_OK;
  });
}

VectisStatus event_synchronize(VectisEvent* event, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = event->owner.api;
    const Current current(api, event->owner.context.get());
    VECTIS_CALL(api, EventSynchronize, event->handle);
    return VECTIS_OK;
  });
}

VectisStatus event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    if (!event->recorded) throw Failure(VECTIS_INVALID_INPUT, "the event was never recorded: it has no time");
    const Current current(event->owner.api, event->owner.context.get());
    *nanoseconds = event->owner.clock.time_of(event->handle);
    return VECTIS_OK;
  });
}

}  // namespace vectis::cuda_hip
