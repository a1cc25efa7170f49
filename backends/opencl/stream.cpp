#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backends/plugin/slots.hpp"
#include "objects.hpp"

namespace vectis::opencl {

namespace {

void set_argument(const VectisKernel& kernel, cl_uint index, const VectisArgument& argument) {
  const auto set = [&](std::size_t bytes, const void* value) {
    const cl_int code = kernel.api.SetKernelArg(kernel.kernel.get(), index, bytes, value);
    if (code == CL_SUCCESS) return;
    throw failed_call("clSetKernelArg of argument " + std::to_string(index), code);
  };
  if (argument.kind == VECTIS_ARGUMENT_MEMORY) {
    const cl_mem buffer = argument.memory->buffer.get();
    set(sizeof(cl_mem), static_cast<const void*>(&buffer));
  } else {
    set(argument.bytes, argument.kind == VECTIS_ARGUMENT_VALUE ? argument.value : nullptr);
  }
}

void set_arguments(const VectisKernel& kernel, const VectisLaunch& launch) {
  if (launch.argument_count != kernel.argument_count) {
    throw Failure(VECTIS_INVALID_INPUT, "the launch has " + std::to_string(launch.argument_count) +
                                            " arguments, the kernel takes " + std::to_string(kernel.argument_count));
  }
  for (cl_uint index = 0; index < kernel.argument_count; ++index) {
    set_argument(kernel, index, launch.arguments[index]);
  }
}

// Drivers lower the limit of a kernel that needs many registers.
void check_group(const VectisKernel& kernel, const VectisLaunch& launch) {
  const std::uint64_t items = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  if (items <= kernel.group_items_max) return;
  throw Failure(VECTIS_INVALID_INPUT, "a work-group of " + std::to_string(items) + " work-items exceeds the limit of " +
                                          std::to_string(kernel.group_items_max) + " for kernel '" + kernel.name +
                                          "' on this device; use smaller work-groups");
}

}  // namespace

}  // namespace vectis::opencl

namespace vectis::plugin {

using namespace opencl;

void stream_create(VectisContext* context, VectisStream** stream) {
  const Api& api = context->api;
  cl_int code = CL_SUCCESS;
  Owned<cl_command_queue> queue(
      api.CreateCommandQueue(context->context.get(), context->device, CL_QUEUE_PROFILING_ENABLE, &code),
      api.ReleaseCommandQueue);
  check(code, "clCreateCommandQueue");
  *stream = std::make_unique<VectisStream>(api, context->clblast, context->device, std::move(queue),
                                           std::make_shared<CommandTracker>(api))
                .release();
}

void stream_destroy(VectisStream* stream) noexcept {
  if (stream->api.Finish(stream->queue.get()) != CL_SUCCESS) stream->tracker->wait();
  delete stream;
}

void stream_synchronize(VectisStream* stream) {
  check(stream->api.Finish(stream->queue.get()), "clFinish");  // also flushes
  stream->unflushed = 0;
  stream->idle = true;
  stream->tracker->check(stream->tracker->added());
}

void stream_wait_event(VectisStream* stream, VectisEvent* event) {
  const std::shared_ptr<const Marker> marker = event->last_marker();
  if (marker == nullptr) return;
  const cl_event before = marker->event.get();
  submit(*stream, "clEnqueueBarrierWithWaitList",
         [&](cl_event* done) { return stream->api.EnqueueBarrierWithWaitList(stream->queue.get(), 1, &before, done); });
}

void copy_to_device(VectisStream* stream, VectisMemory* target, std::uint64_t offset, const void* source,
                    std::uint64_t bytes) {
  submit(*stream, "clEnqueueWriteBuffer", [&](cl_event* done) {
    return stream->api.EnqueueWriteBuffer(stream->queue.get(), target->buffer.get(), CL_FALSE, offset, bytes, source, 0,
                                          nullptr, done);
  });
}

void copy_to_host(VectisStream* stream, void* target, VectisMemory* source, std::uint64_t offset, std::uint64_t bytes) {
  submit(
      *stream, "clEnqueueReadBuffer",
      [&](cl_event* done) {
        return stream->api.EnqueueReadBuffer(stream->queue.get(), source->buffer.get(), CL_FALSE, offset, bytes, target,
                                             0, nullptr, done);
      },
      Flush::now);
}

void copy_on_device(VectisStream* stream, VectisMemory* target, std::uint64_t target_offset, VectisMemory* source,
                    std::uint64_t source_offset, std::uint64_t bytes) {
  submit(*stream, "clEnqueueCopyBuffer", [&](cl_event* done) {
    return stream->api.EnqueueCopyBuffer(stream->queue.get(), source->buffer.get(), target->buffer.get(), source_offset,
                                         target_offset, bytes, 0, nullptr, done);
  });
}

void fill(VectisStream* stream, VectisMemory* target, std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
  submit(*stream, "clEnqueueFillBuffer", [&](cl_event* done) {
    return stream->api.EnqueueFillBuffer(stream->queue.get(), target->buffer.get(), &value, sizeof value, offset, bytes,
                                         0, nullptr, done);
  });
}

void launch(VectisStream* stream, VectisKernel* kernel, const VectisLaunch* launch) {
  std::array<std::size_t, 3> local{};
  std::array<std::size_t, 3> global{};
  for (std::size_t axis = 0; axis < local.size(); ++axis) {
    local[axis] = launch->block[axis];
    global[axis] = local[axis] * launch->grid[axis];
  }
  check_group(*kernel, *launch);
  const std::lock_guard lock(kernel->mutex);
  set_arguments(*kernel, *launch);
  // Not by submit(), which would add two calls to every launch.
  constexpr const char* call = "clEnqueueNDRangeKernel";
  stream->tracker->reserve();
  cl_event event = nullptr;
  check(stream->api.EnqueueNDRangeKernel(stream->queue.get(), kernel->kernel.get(), local.size(), nullptr,
                                         global.data(), local.data(), 0, nullptr, &event),
        call);
  track(*stream, Owned<cl_event>(event, stream->api.ReleaseEvent), call);
}

}  // namespace vectis::plugin
