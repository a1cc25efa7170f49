// Compute pipelines, and the bind groups that give them buffers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu.hpp"
#include "shader_interface.hpp"

namespace vectis::webgpu {

// A number that no two buffers or pipelines of the process share.
std::uint64_t next_serial() noexcept;

struct DeviceBuffer {
  Owned<WGPUBuffer> buffer;
  std::uint64_t bytes;
  std::uint64_t serial = next_serial();
};

// The range of a buffer that is bound to a kernel.
struct BoundBuffer {
  const DeviceBuffer* buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A kernel ready to run.
struct Pipeline {
  std::string name;
  std::uint64_t serial = 0;
  std::uint32_t storage_count = 0;
  bool has_scalars = false;
  std::array<std::uint32_t, 3> block{};  // workgroup size, compiled in; 0: unknown
  Owned<WGPUBindGroupLayout> layout;
  Owned<WGPUComputePipeline> pipeline;
};

// Compiles a shader module. Throws COMPILE_FAILED with the compiler's messages.
Owned<WGPUShaderModule> make_module(Gpu& gpu, const std::string& wgsl);
Owned<WGPUShaderModule> make_module(Gpu& gpu, std::span<const std::uint32_t> spirv);

// Throws INVALID_INPUT when the module has no entry point of this name, COMPILE_FAILED with wgpu's message when the
// kernel exceeds a limit or has bindings other than storage buffers and scalars.
Pipeline make_pipeline(Gpu& gpu, WGPUShaderModule module, const ShaderInterface& interface, const std::string& name);

struct BindGroup {
  Owned<WGPUBindGroup> group;
  bool validated = false;  // whether wgpu has accepted a launch with it; accessed by the one stream it belongs to
};

// A cache of bind groups: a launch with the kernel and buffers of an earlier one creates nothing. Thread-safe.
class BindGroups {
 public:
  explicit BindGroups(Gpu& gpu) : gpu_(gpu) {}

  // Storage buffers are bound from 0 on, then `scalar_bytes` of `scalars` unless that is 0. Throws INVALID_INPUT with
  // wgpu's message when the kernel does not take them.
  std::shared_ptr<BindGroup> find(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                  const DeviceBuffer& scalars, std::uint64_t scalar_bytes);

  // Drops all bind groups with this buffer or pipeline. A bind group keeps its buffers alive, so call this when a
  // buffer is freed.
  void forget(std::uint64_t serial);

 private:
  using Key = std::vector<std::uint64_t>;  // serials of pipeline and scalars, scalar_bytes, then each BoundBuffer
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  std::shared_ptr<BindGroup> make(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                  const DeviceBuffer& scalars, std::uint64_t scalar_bytes);

  Gpu& gpu_;
  std::mutex mutex_;
  Key key_;  // reused, so that a lookup allocates nothing; guarded by mutex_
  std::unordered_map<Key, std::shared_ptr<BindGroup>, KeyHash> groups_;  // guarded by mutex_
};

}  // namespace vectis::webgpu
