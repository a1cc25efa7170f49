// Buffers through which device memory comes to the host. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "bind_groups.hpp"
#include "gpu.hpp"

namespace vectis::webgpu {

// A buffer the host can map. It lives as long as its context: wgpu may call back about it as long.
struct StagingBuffer {
  DeviceBuffer buffer;
  std::atomic<WGPUMapAsyncStatus> mapped{};  // 0 while wgpu has not answered

  // Maps the first bytes, which the work up to `place` has written, and copies `bytes` of them from `skip` on.
  void read(Gpu& gpu, std::uint64_t place, std::uint64_t skip, void* target, std::uint64_t bytes);
};

class StagingBuffers {
 public:
  explicit StagingBuffers(Gpu& gpu) : gpu_(gpu) {}

  static constexpr std::uint64_t bytes_max = std::uint64_t{16} << 20U;

  // One of at least so many bytes, at most bytes_max, for the caller alone until it is given back.
  StagingBuffer& take(std::uint64_t bytes);
  void give_back(StagingBuffer& buffer);

 private:
  Gpu& gpu_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StagingBuffer>> all_;  // guarded by mutex_
  std::vector<StagingBuffer*> free_;                 // guarded by mutex_
};

}  // namespace vectis::webgpu
