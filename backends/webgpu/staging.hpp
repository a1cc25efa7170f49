// Staging buffers, through which device memory is read by the host.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu.hpp"
#include "pipeline.hpp"

namespace vectis::webgpu {

// A buffer that the host can map. It lives as long as its context, because wgpu's callbacks refer to it.
struct StagingBuffer {
  DeviceBuffer buffer;
  std::atomic<WGPUMapAsyncStatus> map_status{};  // 0 until wgpu calls back

  // Waits for `submission`, which wrote the buffer, maps it and copies `bytes` from offset `skip` on into `target`.
  // Throws DEVICE_LOST, and DRIVER_FAILURE when wgpu does not map it.
  void read(Gpu& gpu, std::uint64_t submission, std::uint64_t skip, void* target, std::uint64_t bytes);
};

// The staging buffers of a context, reused. Thread-safe.
class StagingBuffers {
 public:
  explicit StagingBuffers(Gpu& gpu) : gpu_(gpu) {}

  static constexpr std::uint64_t bytes_max = std::uint64_t{16} << 20U;

  // A buffer of at least `bytes`, which must not exceed bytes_max, for the caller alone until it is released. Throws
  // ALLOCATION.
  StagingBuffer& acquire(std::uint64_t bytes);
  void release(StagingBuffer& buffer);

 private:
  Gpu& gpu_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StagingBuffer>> all_;  // guarded by mutex_
  std::vector<StagingBuffer*> free_;                 // guarded by mutex_
};

}  // namespace vectis::webgpu
