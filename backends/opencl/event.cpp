#include "event.hpp"

#include <memory>
#include <mutex>
#include <utility>

#include "slots.hpp"
#include "status.hpp"

namespace vectis::opencl {

std::shared_ptr<const Marker> last_marker(VectisEvent& event) {
  const std::lock_guard lock(event.mutex);
  return event.marker;
}

VectisStatus event_create(VectisContext* context, VectisEvent** event, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    *event = std::make_unique<VectisEvent>(context->api).release();
    return VECTIS_OK;
  });
}

void event_destroy(VectisEvent* event) noexcept { delete event; }

VectisStatus event_record(VectisEvent* event, VectisStream* stream, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const Api& api = stream->api;
    auto marker = std::make_shared<Marker>();
    cl_event place = nullptr;
    check(api.EnqueueMarkerWithWaitList(stream->queue.get(), 0, nullptr, &place), "clEnqueueMarkerWithWaitList");
    marker->event = Owned<cl_event>(place, api.ReleaseEvent);
    marker->progress = stream->progress;
    marker->commands_before = stream->progress->added();
    check(api.Flush(stream->queue.get()), "clFlush");
    std::shared_ptr<const Marker> replaced = std::move(marker);  // the old marker goes after the lock
    const std::lock_guard lock(event->mutex);
    event->marker.swap(replaced);
    return VECTIS_OK;
  });
}

VectisStatus event_query(VectisEvent* event, VectisMessage* message) noexcept {
  return guarded(message, [&]() -> VectisStatus {
    const std::shared_ptr<const Marker> marker = last_marker(*event);
    if (marker == nullptr) return VECTIS_OK;
    // The marker is asked before the commands: those before it have ended if it has.
    cl_int status = CL_QUEUED;
    check(event->api.GetEventInfo(marker->event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                  nullptr),
          "clGetEventInfo");
    marker->progress->check(marker->commands_before);
    if (status < CL_COMPLETE) throw failed_call("clEnqueueMarkerWithWaitList", status);
    return status == CL_COMPLETE ? VECTIS_OK : VECTIS_NOT_READY;
  });
}

VectisStatus event_synchronize(VectisEvent* event, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::shared_ptr<const Marker> marker = last_marker(*event);
    if (marker == nullptr) return VECTIS_OK;
    const cl_event place = marker->event.get();
    const cl_int code = event->api.WaitForEvents(1, &place);
    if (code != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) check(code, "clWaitForEvents");
    marker->progress->check(marker->commands_before);
    check(code, "clWaitForEvents");
    return VECTIS_OK;
  });
}

VectisStatus event_timestamp(VectisEvent* event, std::uint64_t* nanoseconds, VectisMessage* message) noexcept {
  return guarded(message, [&] {
    const std::shared_ptr<const Marker> marker = last_marker(*event);
    if (marker == nullptr) throw Failure(VECTIS_INVALID_INPUT, "the event was never recorded: it has no time");
    cl_ulong passed = 0;
    const cl_int code = event->api.GetEventProfilingInfo(marker->event.get(), CL_PROFILING_COMMAND_END, sizeof passed,
                                                         &passed, nullptr);
    if (code == CL_PROFILING_INFO_NOT_AVAILABLE) throw Failure(VECTIS_NOT_READY, "the event is not passed yet");
    check(code, "clGetEventProfilingInfo");
    *nanoseconds = passed;
    return VECTIS_OK;
  });
}

}  // namespace vectis::opencl
