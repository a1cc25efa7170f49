// The bind groups made so far: a launch over the same kernel and memories as an earlier one makes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpu.hpp"
#include "owned.hpp"
#include "pipeline.hpp"

namespace vectis::webgpu {

// A number no two buffers or pipelines of the process share.
std::uint64_t next_serial() noexcept;

struct DeviceBuffer {
  Owned<WGPUBuffer> buffer;
  std::uint64_t bytes;
  std::uint64_t serial = next_serial();
};

// A part of a buffer as a kernel sees it.
struct BoundBuffer {
  const DeviceBuffer* buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct BindGroup {
  Owned<WGPUBindGroup> group;
  bool tried = false;  // whether wgpu has accepted a launch with it; read and written by the one stream it belongs to
};

// Thread-safe.
class BindGroups {
 public:
  explicit BindGroups(Gpu& gpu) : gpu_(gpu) {}

  // Storage buffers are bound from 0 on; `scalar_bytes` of `scalars` behind them unless they are 0. Throws
  // INVALID_INPUT with wgpu's words when the kernel does not take them.
  std::shared_ptr<BindGroup> find(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                  const DeviceBuffer& scalars, std::uint64_t scalar_bytes);

  // Bind groups keep their buffers alive, so what is freed must be forgotten.
  void forget(std::uint64_t serial);

 private:
  using Key = std::vector<std::uint64_t>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  std::shared_ptr<BindGroup> make(const Pipeline& pipeline, std::span<const BoundBuffer> buffers,
                                  const DeviceBuffer& scalars, std::uint64_t scalar_bytes);

  Gpu& gpu_;
  std::mutex mutex_;
  Key key_;  // room to look one up without allocating; guarded by mutex_
  std::unordered_map<Key, std::shared_ptr<BindGroup>, KeyHash> groups_;  // guarded by mutex_
};

}  // namespace vectis::webgpu
