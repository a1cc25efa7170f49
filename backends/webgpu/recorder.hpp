// A stream's commands on their way to the queue. One thread at a time.
//
// wgpu has one queue, so a stream is an order on it: commands are gathered in one encoder and handed over together when
// somebody asks how far they are, when host memory is copied, or when there are many. What is handed over first is
// done first.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bind_groups.hpp"
#include "gpu.hpp"
#include "status.hpp"

namespace vectis::webgpu {

struct Dispatch {
  const Pipeline& pipeline;
  std::span<const BoundBuffer> buffers;
  std::span<const std::uint32_t> scalars;
  std::array<std::uint32_t, 3> groups;
};

class Recorder {
 public:
  Recorder(Gpu& gpu, BindGroups& groups);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Throws INVALID_INPUT with wgpu's words when it refuses the launch; the commands before are not touched by that.
  void dispatch(const Dispatch& dispatch);
  // Between two buffers, in whole words.
  void copy(const BoundBuffer& source, const BoundBuffer& target);
  // Host bytes in whole words, taken over at once.
  void write(const DeviceBuffer& target, std::uint64_t offset, const void* source, std::uint64_t bytes);

  // Hands everything over. Returns the place in the queue's order after it; 0: nothing ever was.
  std::uint64_t flush();

 private:
  void check() const;
  void need_encoder();
  void end_pass();
  void record(const Dispatch& dispatch, WGPUBindGroup group);
  void try_out(const Dispatch& dispatch, BindGroup& group);
  void submit(WGPUCommandBuffer commands);
  Owned<WGPUCommandBuffer> finish();
  void drop_commands() noexcept;

  Gpu& gpu_;
  BindGroups& groups_;
  DeviceBuffer scalars_;                 // the block on the device
  std::vector<std::byte> scalar_bytes_;  // what the launches gathered so far have put into it
  std::size_t scalars_used_ = 0;
  std::size_t launches_ = 0;  // gathered so far
  Owned<WGPUCommandEncoder> encoder_;
  Owned<WGPUComputePassEncoder> pass_;
  WGPUComputePipeline set_pipeline_ = nullptr;  // of the pass
  std::uint64_t unsent_bytes_ = 0;              // host bytes written since the last submission
  std::uint64_t earlier_bytes_place_ = 0;       // of the submission that carried the last large amount of them
  std::uint64_t place_ = 0;                     // of the last submission
  std::optional<Failure> failure_;              // of commands that were accepted and then lost
};

}  // namespace vectis::webgpu
