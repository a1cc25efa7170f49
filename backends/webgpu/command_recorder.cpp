#include "command_recorder.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "error_scope.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::size_t launches_max = 64;                             // recorded before a submission
constexpr std::size_t scalar_capacity = std::size_t{32} << 10U;      // bytes of scalars before a submission
constexpr std::uint64_t unsubmitted_max = std::uint64_t{32} << 20U;  // host bytes that wgpu holds in its own memory

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

// As large as the kernel's struct of scalars, which ends at a multiple of 16 bytes.
std::size_t block_bytes(std::span<const std::uint32_t> scalars) { return round_up(scalars.size_bytes(), 16); }

}  // namespace

CommandRecorder::CommandRecorder(Gpu& gpu, BindGroups& groups)
    : gpu_(gpu),
      groups_(groups),
      scalars_{gpu.make_buffer(scalar_capacity, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst), scalar_capacity},
      scalar_bytes_(scalar_capacity) {}

CommandRecorder::~CommandRecorder() {
  drop_commands();
  groups_.forget(scalars_.serial);
}

void CommandRecorder::check() const {
  gpu_.check();
  if (failure_) throw Failure(*failure_);
}

void CommandRecorder::ensure_encoder() {
  if (encoder_.get() != nullptr) return;
  const Api& api = gpu_.api();
  encoder_ =
      Owned<WGPUCommandEncoder>(api.DeviceCreateCommandEncoder(gpu_.device(), nullptr), api.CommandEncoderRelease);
}

void CommandRecorder::end_pass() {
  if (pass_.get() == nullptr) return;
  gpu_.api().ComputePassEncoderEnd(pass_.get());
  pass_.reset();
  set_pipeline_ = nullptr;
}

void CommandRecorder::drop_commands() noexcept {
  if (pass_.get() != nullptr) end_pass();
  encoder_.reset();
  launches_ = 0;
  scalars_used_ = 0;
}

// wgpu writes the scalars after all earlier submissions and before the next one, so every batch uses the buffer from
// its beginning.
void CommandRecorder::record(const Dispatch& dispatch, WGPUBindGroup group) {
  const Api& api = gpu_.api();
  ensure_encoder();
  if (pass_.get() == nullptr) {
    pass_ = Owned<WGPUComputePassEncoder>(api.CommandEncoderBeginComputePass(encoder_.get(), nullptr),
                                          api.ComputePassEncoderRelease);
  }
  if (set_pipeline_ != dispatch.pipeline.pipeline.get()) {
    set_pipeline_ = dispatch.pipeline.pipeline.get();
    api.ComputePassEncoderSetPipeline(pass_.get(), set_pipeline_);
  }
  const auto offset = static_cast<std::uint32_t>(scalars_used_);
  if (!dispatch.scalars.empty()) {
    std::memcpy(&scalar_bytes_[scalars_used_], dispatch.scalars.data(), dispatch.scalars.size_bytes());
    scalars_used_ += round_up(block_bytes(dispatch.scalars), gpu_.limits().minUniformBufferOffsetAlignment);
  }
  api.ComputePassEncoderSetBindGroup(pass_.get(), 0, group, dispatch.scalars.empty() ? 0 : 1, &offset);
  api.ComputePassEncoderDispatchWorkgroups(pass_.get(), dispatch.grid[0], dispatch.grid[1], dispatch.grid[2]);
}

Owned<WGPUCommandBuffer> CommandRecorder::finish() {
  end_pass();
  const Api& api = gpu_.api();
  Owned<WGPUCommandBuffer> commands(api.CommandEncoderFinish(encoder_.get(), nullptr), api.CommandBufferRelease);
  encoder_.reset();
  return commands;
}

void CommandRecorder::submit(WGPUCommandBuffer commands) {
  if (scalars_used_ > 0) {
    ErrorScope scope(gpu_);
    gpu_.api().QueueWriteBuffer(gpu_.queue(), scalars_.buffer.get(), 0, scalar_bytes_.data(),
                                round_up(scalars_used_, 4));
    scope.check("the scalars of a launch", VECTIS_DRIVER_FAILURE);
  }
  submission_ = gpu_.submit(commands);
  scalars_used_ = 0;
  launches_ = 0;
  unsubmitted_bytes_ = 0;
}

std::uint64_t CommandRecorder::flush() {
  check();
  if (encoder_.get() == nullptr && unsubmitted_bytes_ == 0) return submission_;
  try {
    Owned<WGPUCommandBuffer> commands;
    if (encoder_.get() != nullptr) {
      ErrorScope scope(gpu_);
      commands = finish();
      scope.check("a batch of commands", VECTIS_DRIVER_FAILURE);
    }
    submit(commands.get());
  } catch (const Failure& failure) {
    drop_commands();
    failure_ = failure;
    throw;
  }
  return submission_;
}

// wgpu validates a launch when its encoder is finished, and rejects the encoder as a whole. The first launch with a
// bind group, and every one above the limit of the grid, therefore has an encoder of its own.
void CommandRecorder::dispatch_alone(const Dispatch& dispatch, BindGroup& group) {
  flush();
  try {
    ErrorScope scope(gpu_);
    record(dispatch, group.group.get());
    const Owned<WGPUCommandBuffer> commands = finish();
    scope.check("the launch of '" + dispatch.pipeline.name + "' is invalid", VECTIS_INVALID_INPUT);
    submit(commands.get());
  } catch (...) {
    drop_commands();
    throw;
  }
  group.validated = true;
}

void CommandRecorder::dispatch(const Dispatch& dispatch) {
  check();
  const std::size_t needed = block_bytes(dispatch.scalars);
  if (needed > scalar_capacity) {
    throw Failure(VECTIS_INVALID_INPUT, "the launch has " + std::to_string(needed) +
                                            " bytes of scalars, the limit is " + std::to_string(scalar_capacity));
  }
  const std::shared_ptr<BindGroup> group = groups_.find(dispatch.pipeline, dispatch.buffers, scalars_, needed);
  const std::uint32_t grid_max = gpu_.limits().maxComputeWorkgroupsPerDimension;
  const bool over = std::any_of(dispatch.grid.begin(), dispatch.grid.end(),
                                [grid_max](std::uint32_t count) { return count > grid_max; });
  if (over || !group->validated) return dispatch_alone(dispatch, *group);
  if (launches_ >= launches_max || scalars_used_ + needed > scalar_capacity) flush();
  record(dispatch, group->group.get());
  ++launches_;
}

void CommandRecorder::copy(const BoundBuffer& source, const BoundBuffer& target) {
  check();
  ensure_encoder();
  end_pass();
  gpu_.api().CommandEncoderCopyBufferToBuffer(encoder_.get(), source.buffer->buffer.get(), source.offset,
                                              target.buffer->buffer.get(), target.offset, source.bytes);
}

// wgpu holds a copy of the bytes until the device has them, so a large transfer waits for its first parts to arrive.
void CommandRecorder::write(const DeviceBuffer& target, std::uint64_t offset, const void* source, std::uint64_t bytes) {
  check();
  if (encoder_.get() != nullptr) flush();
  const auto* from = static_cast<const std::byte*>(source);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t part = std::min(bytes - done, unsubmitted_max);
    ErrorScope scope(gpu_);
    gpu_.api().QueueWriteBuffer(gpu_.queue(), target.buffer.get(), offset + done, from + done, part);
    scope.check("a copy of " + std::to_string(part) + " bytes to the device", VECTIS_DRIVER_FAILURE);
    unsubmitted_bytes_ += part;
    done += part;
    if (unsubmitted_bytes_ < unsubmitted_max) continue;
    const std::uint64_t earlier = std::exchange(throttled_submission_, flush());
    gpu_.wait(earlier);
  }
}

}  // namespace vectis::webgpu
