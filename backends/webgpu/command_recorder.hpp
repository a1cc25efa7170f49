// The commands of one stream, recorded for the device's queue.
//
// A device has one queue, so a stream is an order of commands on it. A recorder gathers commands in one encoder and
// submits them together when their progress is queried, when host memory is copied, or when there are many. The queue
// executes submissions in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu.hpp"
#include "pipeline.hpp"

namespace vectis::webgpu {

// One launch to record: the kernel, its buffers from binding 0 on, its scalars, and the grid. It refers to the
// caller's objects, which must stay valid during CommandRecorder::dispatch().
struct Dispatch {
  const Pipeline& pipeline;
  std::span<const BoundBuffer> buffers;
  std::span<const std::uint32_t> scalars;
  std::array<std::uint32_t, 3> grid;  // workgroups by dimension
};

// Records the commands of one stream and submits them in batches. Not thread-safe: one thread at a time. After a
// submission that lost recorded commands, every call throws its failure again; on a lost device every call throws
// VECTIS_DEVICE_LOST.
class CommandRecorder {
 public:
  // Creates a recorder with a device buffer for scalars. `gpu` and `groups` must outlive it. Throws Failure:
  // VECTIS_DEVICE_LOST when the device is lost, VECTIS_ALLOCATION when wgpu gives no buffer.
  CommandRecorder(Gpu& gpu, BindGroups& groups);
  // Drops the commands that were not submitted.
  ~CommandRecorder();
  CommandRecorder(const CommandRecorder&) = delete;
  CommandRecorder& operator=(const CommandRecorder&) = delete;

  // Records one launch; may submit earlier ones. Throws Failure: VECTIS_INVALID_INPUT, without effect on commands
  // recorded before, when the buffers, the grid or the scalars (at most 32 KiB) do not fit the kernel or the device;
  // VECTIS_DEVICE_LOST; the failure of an earlier submission that lost commands.
  void dispatch(const Dispatch& dispatch);

  // Records a copy of source.bytes bytes. Preconditions: the two buffers differ, offsets and bytes are multiples of
  // 4, and the ranges lie inside the buffers. Throws Failure: VECTIS_DEVICE_LOST when the device is lost, or the
  // failure of an earlier submission that lost commands.
  void copy(const BoundBuffer& source, const BoundBuffer& target);

  // Copies host bytes to the device, ordered after the recorded commands; the host bytes may change on return. Waits
  // when more than 32 MiB are under way. Preconditions: `offset` and `bytes` are multiples of 4, and the range lies
  // inside `target`. Throws Failure: VECTIS_DEVICE_LOST, or VECTIS_DRIVER_FAILURE when wgpu rejects the copy.
  void write(const DeviceBuffer& target, std::uint64_t offset, const void* source, std::uint64_t bytes);

  // Submits everything recorded and returns the index of this stream's last submission, 0 when there was none. Does
  // not wait for the work. Throws Failure, now and at every later call, when the commands are lost:
  // VECTIS_DEVICE_LOST, or VECTIS_DRIVER_FAILURE when wgpu rejects them.
  std::uint64_t flush();

 private:
  void check() const;
  void ensure_encoder();
  void end_pass();
  void record(const Dispatch& dispatch, WGPUBindGroup group);
  void dispatch_alone(const Dispatch& dispatch, BindGroup& group);
  void submit(WGPUCommandBuffer commands);
  Owned<WGPUCommandBuffer> finish();
  void drop_commands() noexcept;

  Gpu& gpu_;
  BindGroups& groups_;
  DeviceBuffer scalars_;                 // the device's copy of scalar_bytes_
  std::vector<std::byte> scalar_bytes_;  // scalars of the recorded launches, each at its dynamic offset
  std::size_t scalars_used_ = 0;
  std::size_t launches_ = 0;  // recorded since the last submission
  Owned<WGPUCommandEncoder> encoder_;
  Owned<WGPUComputePassEncoder> pass_;
  WGPUComputePipeline set_pipeline_ = nullptr;  // of the pass
  std::uint64_t unsubmitted_bytes_ = 0;         // host bytes written since the last submission
  std::uint64_t throttled_submission_ = 0;      // the last one that a large write caused
  std::uint64_t submission_ = 0;                // the last one
  std::optional<Failure> failure_;              // of a submission whose commands were lost
};

}  // namespace vectis::webgpu
