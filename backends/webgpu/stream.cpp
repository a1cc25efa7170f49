// Streams and events.
#include <memory>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::plugin {

using namespace webgpu;

void stream_create(VectisContext* context, VectisStream** stream) {
  *stream = new VectisStream{*context, {context->gpu, context->bind_groups}, {}};
}

void stream_destroy(VectisStream* stream) noexcept {
  try {
    stream->context.gpu.wait(stream->recorder.flush());
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destroy slot cannot report a failure
  }
  if (stream->scratch) stream->context.bind_groups.forget(stream->scratch->serial);
  delete stream;
}

void stream_synchronize(VectisStream* stream) { stream->context.gpu.wait(stream->recorder.flush()); }

// Nothing to enqueue: the event's work was submitted when it was recorded, and the device's one queue keeps the order.
void stream_wait_event(VectisStream* stream, VectisEvent*) { stream->context.gpu.check(); }

void event_create(VectisContext* context, VectisEvent** event) { *event = new VectisEvent{*context}; }

void event_destroy(VectisEvent* event) noexcept { delete event; }

void event_record(VectisEvent* event, VectisStream* stream) {
  event->submission.store(stream->recorder.flush(), std::memory_order_release);
}

VectisStatus event_query(VectisEvent* event) {
  const std::uint64_t submission = event->submission.load(std::memory_order_acquire);
  return event->context.gpu.is_done(submission) ? VECTIS_OK : VECTIS_NOT_READY;
}

void event_synchronize(VectisEvent* event) {
  event->context.gpu.wait(event->submission.load(std::memory_order_acquire));
}

}  // namespace vectis::plugin
