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

// Returns a serial number, at least 1, that no other buffer or pipeline of the process has. Thread-safe. Does not
// throw.
std::uint64_t next_serial() noexcept;

// A buffer of wgpu with its size and the serial number by which BindGroups recognizes it.
struct DeviceBuffer {
  Owned<WGPUBuffer> buffer;
  std::uint64_t bytes;
  std::uint64_t serial = next_serial();
};

// The range of a buffer that is bound to a kernel or copied, in bytes. The buffer must outlive it.
struct BoundBuffer {
  const DeviceBuffer* buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

// A kernel ready to run: wgpu's pipeline and the arguments that it takes.
struct Pipeline {
  std::string name;
  std::uint64_t serial = 0;
  std::uint32_t storage_count = 0;
  bool has_scalars = false;
  std::array<std::uint32_t, 3> block{};  // workgroup size, compiled in; 0: unknown
  Owned<WGPUBindGroupLayout> layout;
  Owned<WGPUComputePipeline> pipeline;
};

// Compiles a shader module from WGSL. Precondition, unchecked: the text is UTF-8. Throws Failure:
// VECTIS_COMPILE_FAILED with the compiler's messages when it rejects the text, VECTIS_DEVICE_LOST when the device is
// lost.
Owned<WGPUShaderModule> make_module(Gpu& gpu, const std::string& wgsl);

// Compiles a shader module from SPIR-V. Precondition: the words are a valid module. Throws Failure:
// VECTIS_COMPILE_FAILED with the compiler's messages when it rejects the module, VECTIS_DEVICE_LOST when the device
// is lost.
Owned<WGPUShaderModule> make_module(Gpu& gpu, std::span<const std::uint32_t> spirv);

// Creates the kernel `name` of a module whose interface is `interface`. Throws Failure: VECTIS_INVALID_INPUT when the
// module has no such entry point; VECTIS_COMPILE_FAILED when the kernel exceeds a limit of the device or has bindings
// other than storage buffers and scalars; VECTIS_DEVICE_LOST when the device is lost.
Pipeline make_pipeline(Gpu& gpu, WGPUShaderModule module, const ShaderInterface& interface, const std::string& name);

// A bind group of wgpu: the buffers of a launch as one object.
struct BindGroup {
  Owned<WGPUBindGroup> group;
  bool validated = false;  // whether wgpu has accepted a launch with it; accessed by the one stream it belongs to
};

// A cache of bind groups: a launch with the kernel and buffers of an earlier one creates nothing. Thread-safe.
class BindGroups {
 public:
  // Creates an empty cache. `gpu` must outlive it. Does not throw.
  explicit BindGroups(Gpu& gpu) : gpu_(gpu) {}

  // Returns the bind group of these buffers, bound from 0 on, then `scalar_bytes` bytes of `scalars` unless that is
  // 0; creates it when the cache has none. The pipeline and the buffers must exist. Throws Failure:
  // VECTIS_INVALID_INPUT with wgpu's message when the kernel does not take them, VECTIS_DEVICE_LOST when the device
  // is lost.
  std::shared_ptr<BindGroup> find(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                  const DeviceBuffer& scalars, std::uint64_t scalar_bytes);

  // Drops all bind groups with the buffer or pipeline of this serial number; does nothing when there are none. Call
  // it when a buffer is freed, because a bind group keeps its buffers alive. Does not throw.
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
