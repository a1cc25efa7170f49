#include "recorder.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "trap.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::size_t launches_max = 64;                        // gathered before they are handed over
constexpr std::size_t scalar_room = std::size_t{32} << 10U;     // bytes of scalars gathered
constexpr std::uint64_t unsent_max = std::uint64_t{32} << 20U;  // host bytes that wait in wgpu's own memory

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

// As large as the kernel's struct of scalars, which ends at a multiple of 16 bytes.
std::size_t block_bytes(std::span<const std::uint32_t> scalars) { return round_up(scalars.size_bytes(), 16); }

}  // namespace

Recorder::Recorder(Gpu& gpu, BindGroups& groups)
    : gpu_(gpu),
      groups_(groups),
      scalars_{gpu.make_buffer(scalar_room, WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst), scalar_room},
      scalar_bytes_(scalar_room) {}

Recorder::~Recorder() {
  drop_commands();
  groups_.forget(scalars_.serial);
}

void Recorder::check() const {
  gpu_.check();
  if (failure_) throw Failure(*failure_);
}

void Recorder::need_encoder() {
  if (encoder_.get() != nullptr) return;
  const Api& api = gpu_.api();
  encoder_ =
      Owned<WGPUCommandEncoder>(api.DeviceCreateCommandEncoder(gpu_.device(), nullptr), api.CommandEncoderRelease);
}

void Recorder::end_pass() {
  if (pass_.get() == nullptr) return;
  gpu_.api().ComputePassEncoderEnd(pass_.get());
  pass_.reset();
  set_pipeline_ = nullptr;
}

void Recorder::drop_commands() noexcept {
  if (pass_.get() != nullptr) end_pass();
  encoder_.reset();
  launches_ = 0;
  scalars_used_ = 0;
}

// Writes of the scalars take place before the commands that are submitted next and after all that were submitted
// before, so every batch may use the block from its beginning.
void Recorder::record(const Dispatch& dispatch, WGPUBindGroup group) {
  const Api& api = gpu_.api();
  need_encoder();
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
  api.ComputePassEncoderDispatchWorkgroups(pass_.get(), dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
}

Owned<WGPUCommandBuffer> Recorder::finish() {
  end_pass();
  const Api& api = gpu_.api();
  Owned commands(api.CommandEncoderFinish(encoder_.get(), nullptr), api.CommandBufferRelease);
  encoder_.reset();
  return commands;
}

void Recorder::submit(WGPUCommandBuffer commands) {
  if (scalars_used_ > 0) {
    Trap trap(gpu_);
    gpu_.api().QueueWriteBuffer(gpu_.queue(), scalars_.buffer.get(), 0, scalar_bytes_.data(),
                                round_up(scalars_used_, 4));
    trap.check("the scalars of a launch", VECTIS_DRIVER_FAILURE);
  }
  place_ = gpu_.submit(commands);
  scalars_used_ = 0;
  launches_ = 0;
  unsent_bytes_ = 0;
}

std::uint64_t Recorder::flush() {
  check();
  if (encoder_.get() == nullptr && unsent_bytes_ == 0) return place_;
  try {
    Owned<WGPUCommandBuffer> commands;
    if (encoder_.get() != nullptr) {
      Trap trap(gpu_);
      commands = finish();
      trap.check("a batch of commands", VECTIS_DRIVER_FAILURE);
    }
    submit(commands.get());
  } catch (const Failure& failure) {
    drop_commands();
    failure_ = failure;
    throw;
  }
  return place_;
}

// wgpu judges a launch only when its encoder is finished, and then rejects the encoder as a whole. The first launch
// with a bind group, and every one over the limit of groups, therefore has an encoder of its own.
void Recorder::try_out(const Dispatch& dispatch, BindGroup& group) {
  flush();
  try {
    Trap trap(gpu_);
    record(dispatch, group.group.get());
    const Owned<WGPUCommandBuffer> commands = finish();
    trap.check("the launch of '" + dispatch.pipeline.name + "' is refused", VECTIS_INVALID_INPUT);
    submit(commands.get());
  } catch (...) {
    drop_commands();
    throw;
  }
  group.tried = true;
}

void Recorder::dispatch(const Dispatch& dispatch) {
  check();
  const std::size_t needed = block_bytes(dispatch.scalars);
  if (needed > scalar_room) {
    throw Failure(VECTIS_INVALID_INPUT, "the launch has " + std::to_string(needed) +
                                            " bytes of scalars, the limit is " + std::to_string(scalar_room));
  }
  const std::shared_ptr<BindGroup> group = groups_.find(dispatch.pipeline, dispatch.buffers, scalars_, needed);
  const std::uint32_t groups_max = gpu_.limits().maxComputeWorkgroupsPerDimension;
  const bool over = std::any_of(dispatch.groups.begin(), dispatch.groups.end(),
                                [groups_max](std::uint32_t count) { return count > groups_max; });
  if (over || !group->tried) return try_out(dispatch, *group);
  if (launches_ >= launches_max || scalars_used_ + needed > scalar_room) flush();
  record(dispatch, group->group.get());
  ++launches_;
}

void Recorder::copy(const BoundBuffer& source, const BoundBuffer& target) {
  check();
  need_encoder();
  end_pass();
  gpu_.api().CommandEncoderCopyBufferToBuffer(encoder_.get(), source.buffer->buffer.get(), source.offset,
                                              target.buffer->buffer.get(), target.offset, source.bytes);
}

// wgpu keeps a copy of the bytes until the device has them; a large transfer waits for its first parts to arrive.
void Recorder::write(const DeviceBuffer& target, std::uint64_t offset, const void* source, std::uint64_t bytes) {
  check();
  if (encoder_.get() != nullptr) flush();
  const auto* from = static_cast<const std::byte*>(source);
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t part = std::min(bytes - done, unsent_max);
    Trap trap(gpu_);
    gpu_.api().QueueWriteBuffer(gpu_.queue(), target.buffer.get(), offset + done, from + done, part);
    trap.check("a copy of " + std::to_string(part) + " bytes to the device", VECTIS_DRIVER_FAILURE);
    unsent_bytes_ += part;
    done += part;
    if (unsent_bytes_ < unsent_max) continue;
    const std::uint64_t earlier = std::exchange(earlier_bytes_place_, flush());
    gpu_.wait(earlier);
  }
}

}  // namespace vectis::webgpu
