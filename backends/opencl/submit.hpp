// Commands on their way to the driver.
#pragma once

#include <utility>

#include "objects.hpp"
#include "status.hpp"

namespace vectis::opencl {

// Makes the driver begin with `command`, which `call` enqueued, and remembers it. When the driver refuses, waits for
// the command, which may use the caller's memory, before the failure goes up. The stream has room for it.
inline void keep(VectisStream& stream, Owned<cl_event> command, const char* call) {
  const cl_int code = stream.api.Flush(stream.queue.get());
  if (code != CL_SUCCESS) {
    const cl_event event = command.get();
    stream.api.WaitForEvents(1, &event);
    throw failed_call("clFlush", code);
  }
  stream.progress->add(std::move(command), call);
}

// Enqueues a command through `enqueue(cl_event*)`, starts it and keeps its event.
template <class Enqueue>
void submit(VectisStream& stream, const char* call, Enqueue&& enqueue) {
  stream.progress->make_room();
  cl_event event = nullptr;
  check(enqueue(&event), call);
  keep(stream, Owned<cl_event>(event, stream.api.ReleaseEvent), call);
}

}  // namespace vectis::opencl
