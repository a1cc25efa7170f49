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

struct Dispatch {
  const Pipeline& pipeline;
  std::span<const BoundBuffer> buffers;
  std::span<const std::uint32_t> scalars;
  std::array<std::uint32_t, 3> grid;  // workgroups by dimension
};

// One thread at a time. Every function throws DEVICE_LOST when the device is lost, and again the failure of a
// submission that lost recorded commands.
class CommandRecorder {
 public:
  CommandRecorder(Gpu& gpu, BindGroups& groups);
  ~CommandRecorder();
  CommandRecorder(const CommandRecorder&) = delete;
  CommandRecorder& operator=(const CommandRecorder&) = delete;

  // Throws INVALID_INPUT with wgpu's message when the launch is invalid; commands recorded before are not affected.
  void dispatch(const Dispatch& dispatch);
  // Between two different buffers; offsets and bytes are multiples of 4.
  void copy(const BoundBuffer& source, const BoundBuffer& target);
  // Copies host bytes, which may be changed on return; offset and bytes are multiples of 4.
  void write(const DeviceBuffer& target, std::uint64_t offset, const void* source, std::uint64_t bytes);

  // Submits everything recorded and returns the last submission; 0 when nothing was ever submitted.
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
