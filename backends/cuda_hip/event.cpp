#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::plugin {

using namespace cuda_hip;

void event_create(VectisContext* context, VectisEvent** event) {
  create_object(*context, event, &Api::EventDestroy,
                [](const Api& api, EventHandle* handle) { VECTIS_CALL(api, EventCreate, handle, event_flags); });
}

void event_destroy(VectisEvent* event) noexcept {
  in_context(event->owner, [&] { static_cast<void>(event->owner.api.EventDestroy(event->handle)); });
  delete event;
}

void event_record(VectisEvent* event, VectisStream* stream) {
  const Api& api = event->owner.api;
  const CurrentContext current(api, event->owner.context.get());
  VECTIS_CALL(api, EventRecord, event->handle, stream->handle);
  event->recorded = true;
}

VectisStatus event_query(VectisEvent* event) {
  const Api& api = event->owner.api;
  const CurrentContext current(api, event->owner.context.get());
  const Code code = api.EventQuery(event->handle);
  if (static_cast<int>(code) == code_not_ready) return VECTIS_NOT_READY;
  check(api, code, symbol_of_EventQuery);
  return VECTIS_OK;
}

void event_synchronize(VectisEvent* event) {
  const Api& api = event->owner.api;
  const CurrentContext current(api, event->owner.context.get());
  VECTIS_CALL(api, EventSynchronize, event->handle);
}

void event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds) {
  if (!event->recorded) throw Failure(VECTIS_INVALID_INPUT, "the event was never recorded: it has no timestamp");
  const CurrentContext current(event->owner.api, event->owner.context.get());
  *nanoseconds = event->owner.clock.time_of(event->handle);
}

}  // namespace vectis::plugin
