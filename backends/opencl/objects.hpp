// The structs behind the contract's handles.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api.hpp"
#include "clblast.hpp"
#include "command_tracker.hpp"
#include "vectis/device/backend.h"

namespace vectis::opencl {

// A device that the backend lists: a root device of a platform, or a sub-device. Only a sub-device is owned.
struct ListedDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  cl_device_type type = 0;
  std::int32_t parent = -1;        // index of the device that a sub-device is a part of
  Owned<cl_device_id> sub_device;  // holds `id` when it is a sub-device; the driver owns root devices
};

// A marker command in a queue: what an event refers to once it is recorded. Immutable.
struct Marker {
  Owned<cl_event> event;
  std::shared_ptr<CommandTracker> tracker;  // of the stream the marker is on
  std::uint64_t commands_before = 0;        // how many commands the stream had before the marker
};

}  // namespace vectis::opencl

// The state of the open OpenCL backend: the loaded functions, CLBlast and the listed devices.
struct VectisBackendState {
  vectis::opencl::Host host;
  vectis::opencl::Api api;
  vectis::opencl::Clblast clblast;
  std::vector<vectis::opencl::ListedDevice> devices;
};

// An OpenCL context on one device. `api` and `clblast` belong to the backend's state, which outlives it.
struct VectisContext {
  const vectis::opencl::Api& api;
  vectis::opencl::Clblast& clblast;
  cl_device_id device;
  bool on_cpu;  // the device is a CPU
  bool on_sub_device;
  vectis::opencl::Owned<cl_context> context;
};

// A buffer or sub-buffer of OpenCL, released with this object. `api` belongs to the backend's state.
struct VectisMemory {
  const vectis::opencl::Api& api;
  vectis::opencl::Owned<cl_mem> buffer;
};

// An in-order command queue with the tracker of its commands. One thread at a time uses it.
struct VectisStream {
  const vectis::opencl::Api& api;
  vectis::opencl::Clblast& clblast;
  cl_device_id device;
  vectis::opencl::Owned<cl_command_queue> queue;
  std::shared_ptr<vectis::opencl::CommandTracker> tracker;  // shared with the events recorded on the stream
  std::size_t unflushed = 0;                                // commands since the last flush
  bool idle = true;                                         // no command since the stream was created or synchronized
};

// An event of the ABI: the marker of its last record. Thread-safe through last_marker().
struct VectisEvent {
  const vectis::opencl::Api& api;
  std::mutex mutex;
  std::shared_ptr<const vectis::opencl::Marker> marker;  // of the last record, or null; guarded by `mutex`

  // Returns the marker of the last record, or null when the event was never recorded. Thread-safe.
  std::shared_ptr<const vectis::opencl::Marker> last_marker() {
    const std::lock_guard lock(mutex);
    return marker;
  }
};

// A built OpenCL program. `context` outlives it.
struct VectisProgram {
  const VectisContext& context;
  vectis::opencl::Owned<cl_program> program;
};

// An OpenCL kernel. Hold `mutex` while the arguments are set and the launch is enqueued.
struct VectisKernel {
  const vectis::opencl::Api& api;
  vectis::opencl::Owned<cl_kernel> kernel;
  cl_uint argument_count;
  std::string name;
  std::size_t group_items_max;  // CL_KERNEL_WORK_GROUP_SIZE: below the device's limit when registers are scarce
  std::mutex mutex;  // OpenCL stores arguments in the kernel: held while they are set and the launch is enqueued
};

namespace vectis::opencl {

// Commands that a stream collects before it flushes them together. A flush costs some microseconds on GPUs.
inline constexpr std::size_t flush_interval = 16;

// When a command is flushed: with the commands after it, or at once because the host is likely to wait for it next.
enum class Flush { batched, now };

// Adds `command` to the stream's tracker under the name `call`, and flushes the queue if `flush` is Flush::now, the
// stream was idle, or flush_interval commands were collected. Commands that stay unflushed are flushed by the record of
// an event, which other queues and threads may wait for, and by the synchronize of the stream. Precondition: reserve()
// of the tracker was called for the command. When clFlush fails, waits for the command, which may use the caller's
// memory, and throws Failure with the status of clFlush's code.
inline void track(VectisStream& stream, Owned<cl_event> command, const char* call, Flush flush = Flush::batched) {
  ++stream.unflushed;
  if (flush == Flush::now || stream.idle || stream.unflushed >= flush_interval) {
    const cl_int code = stream.api.Flush(stream.queue.get());
    if (code != CL_SUCCESS) {
      const cl_event event = command.get();
      stream.api.WaitForEvents(1, &event);
      throw failed_call("clFlush", code);
    }
    stream.unflushed = 0;
    stream.idle = false;
  }
  stream.tracker->add(std::move(command), call);
}

// Enqueues one command by enqueue(cl_event*) and tracks it under the name `call`, which must be a literal. Throws
// Failure with the status of the driver's code when the enqueue, the flush or a query of earlier commands fails.
template <class Enqueue>
void submit(VectisStream& stream, const char* call, Enqueue&& enqueue, Flush flush = Flush::batched) {
  stream.tracker->reserve();
  cl_event event = nullptr;
  check(enqueue(&event), call);
  track(stream, Owned<cl_event>(event, stream.api.ReleaseEvent), call, flush);
}

}  // namespace vectis::opencl
