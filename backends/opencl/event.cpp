#include <memory>
#include <mutex>
#include <utility>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::plugin {

using namespace opencl;

void event_create(VectisContext* context, VectisEvent** event) {
  *event = std::make_unique<VectisEvent>(context->api).release();
}

void event_destroy(VectisEvent* event) noexcept { delete event; }

void event_record(VectisEvent* event, VectisStream* stream) {
  const Api& api = stream->api;
  auto marker = std::make_shared<Marker>();
  cl_event marker_event = nullptr;
  check(api.EnqueueMarkerWithWaitList(stream->queue.get(), 0, nullptr, &marker_event), "clEnqueueMarkerWithWaitList");
  marker->event = Owned<cl_event>(marker_event, api.ReleaseEvent);
  marker->tracker = stream->tracker;
  marker->commands_before = stream->tracker->added();
  check(api.Flush(stream->queue.get()), "clFlush");  // other queues and threads may wait for the marker
  stream->unflushed = 0;
  std::shared_ptr<const Marker> replaced = std::move(marker);  // destroyed after the lock is released
  const std::lock_guard lock(event->mutex);
  event->marker.swap(replaced);
}

VectisStatus event_query(VectisEvent* event) {
  const std::shared_ptr<const Marker> marker = event->last_marker();
  if (marker == nullptr) return VECTIS_OK;
  // The marker's status is read first: if it has ended, so have the commands before it.
  cl_int status = CL_QUEUED;
  check(
      event->api.GetEventInfo(marker->event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr),
      "clGetEventInfo");
  marker->tracker->check(marker->commands_before);
  if (status < CL_COMPLETE) throw failed_call("clEnqueueMarkerWithWaitList", status);
  return status == CL_COMPLETE ? VECTIS_OK : VECTIS_NOT_READY;
}

void event_synchronize(VectisEvent* event) {
  const std::shared_ptr<const Marker> marker = event->last_marker();
  if (marker == nullptr) return;
  const cl_event marker_event = marker->event.get();
  const cl_int code = event->api.WaitForEvents(1, &marker_event);
  if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) check(code, "clWaitForEvents");
  marker->tracker->check(marker->commands_before);
  check(code, "clWaitForEvents");
}

void event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds) {
  const std::shared_ptr<const Marker> marker = event->last_marker();
  if (marker == nullptr) throw Failure(VECTIS_INVALID_INPUT, "the event was never recorded: it has no timestamp");
  cl_ulong ended = 0;
  const cl_int code =
      event->api.GetEventProfilingInfo(marker->event.get(), CL_PROFILING_COMMAND_END, sizeof ended, &ended, nullptr);
  if (code == CL_PROFILING_INFO_NOT_AVAILABLE) throw Failure(VECTIS_NOT_READY, "the event has not passed yet");
  check(code, "clGetEventProfilingInfo");
  *nanoseconds = ended;
}

}  // namespace vectis::plugin
