// The structs behind the contract's handles.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api.hpp"
#include "clblast.hpp"
#include "command_tracker.hpp"
#include "vectis/device/backend.h"

namespace vectis::opencl {

struct ListedDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::int32_t parent = -1;        // index of the device that a sub-device is a part of
  Owned<cl_device_id> sub_device;  // holds `id` when it is a sub-device; the driver owns root devices
};

// A marker command in a queue: a recorded event. Immutable.
struct Marker {
  Owned<cl_event> event;
  std::shared_ptr<CommandTracker> tracker;  // of the stream the marker is on
  std::uint64_t commands_before = 0;        // how many commands the stream had before the marker
};

}  // namespace vectis::opencl

struct VectisBackendState {
  vectis::opencl::Host host;
  vectis::opencl::Api api;
  vectis::opencl::Clblast clblast;
  std::vector<vectis::opencl::ListedDevice> devices;
};

struct VectisContext {
  const vectis::opencl::Api& api;
  vectis::opencl::Clblast& clblast;
  cl_device_id device;
  bool on_sub_device;
  vectis::opencl::Owned<cl_context> context;
};

struct VectisMemory {
  const vectis::opencl::Api& api;
  vectis::opencl::Owned<cl_mem> buffer;
};

struct VectisStream {
  const vectis::opencl::Api& api;
  vectis::opencl::Clblast& clblast;
  cl_device_id device;
  vectis::opencl::Owned<cl_command_queue> queue;
  std::shared_ptr<vectis::opencl::CommandTracker> tracker;  // shared with the events recorded on the stream
};

struct VectisEvent {
  const vectis::opencl::Api& api;
  std::mutex mutex;
  std::shared_ptr<const vectis::opencl::Marker> marker;  // of the last record, or null; guarded by `mutex`

  std::shared_ptr<const vectis::opencl::Marker> last_marker() {
    const std::lock_guard lock(mutex);
    return marker;
  }
};

struct VectisProgram {
  const VectisContext& context;
  vectis::opencl::Owned<cl_program> program;
};

struct VectisKernel {
  const vectis::opencl::Api& api;
  vectis::opencl::Owned<cl_kernel> kernel;
  cl_uint argument_count;
  std::mutex mutex;  // OpenCL stores arguments in the kernel: held while they are set and the launch is enqueued
};

namespace vectis::opencl {

// Flushes the queue, so that the driver starts `command`, and tracks it under the name of the call that enqueued it.
// When the flush fails, waits for the command, which may use the caller's memory, and throws. Precondition: reserve()
// of the tracker was called.
inline void flush_and_track(VectisStream& stream, Owned<cl_event> command, const char* call) {
  const cl_int code = stream.api.Flush(stream.queue.get());
  if (code != CL_SUCCESS) {
    const cl_event event = command.get();
    stream.api.WaitForEvents(1, &event);
    throw failed_call("clFlush", code);
  }
  stream.tracker->add(std::move(command), call);
}

// Enqueues a command through `enqueue(cl_event*)`, flushes the queue and tracks the command's event.
template <class Enqueue>
void submit(VectisStream& stream, const char* call, Enqueue&& enqueue) {
  stream.tracker->reserve();
  cl_event event = nullptr;
  check(enqueue(&event), call);
  flush_and_track(stream, Owned<cl_event>(event, stream.api.ReleaseEvent), call);
}

}  // namespace vectis::opencl
