// What is behind the contract's handles.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api.hpp"
#include "backends/plugin/host.hpp"
#include "clblast.hpp"
#include "owned.hpp"
#include "progress.hpp"
#include "vectis/device/backend.h"

namespace vectis::opencl {

using plugin::Host;

struct ListedDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  std::int32_t parent = -1;  // index of the device it is a part of
  Owned<cl_device_id> part;  // a sub-device is ours to release, a root device is the driver's
};

// A place in a stream's order. Immutable.
struct Marker {
  Owned<cl_event> event;
  std::shared_ptr<Progress> progress;
  std::uint64_t commands_before = 0;
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
  bool on_part;  // of a device, which may be released when this is gone
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
  std::shared_ptr<vectis::opencl::Progress> progress;  // shared with the events recorded on it
};

struct VectisEvent {
  const vectis::opencl::Api& api;
  std::mutex mutex;
  std::shared_ptr<const vectis::opencl::Marker> marker;  // of the last record; guarded by `mutex`
};

struct VectisProgram {
  const VectisContext& context;
  vectis::opencl::Owned<cl_program> program;
};

struct VectisKernel {
  const vectis::opencl::Api& api;
  vectis::opencl::Owned<cl_kernel> kernel;
  cl_uint argument_count;
  std::mutex mutex;  // OpenCL keeps the arguments in the kernel: held while they are set and the launch is enqueued
};
