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

// A buffer that the host can map for reading. It lives as long as its context, because wgpu's callbacks refer to it.
// One thread at a time uses it.
struct StagingBuffer {
  DeviceBuffer buffer;
  std::atomic<WGPUMapAsyncStatus> map_status{};  // 0 until wgpu calls back

  // Waits for `submission`, which wrote the buffer, and copies `bytes` bytes from offset `skip` of the buffer to
  // `target`. Precondition: skip + bytes, rounded up to a multiple of 8, lie inside the buffer. Throws Failure:
  // VECTIS_DEVICE_LOST when the device is lost, VECTIS_DRIVER_FAILURE when wgpu does not map the buffer.
  void read(Gpu& gpu, std::uint64_t submission, std::uint64_t skip, void* target, std::uint64_t bytes);
};

// The pool of a context's staging buffers, which are reused and never freed before the context. Thread-safe.
class StagingBuffers {
 public:
  // Creates an empty pool. `gpu` must outlive it. Does not throw.
  explicit StagingBuffers(Gpu& gpu) : gpu_(gpu) {}

  // The largest size in bytes that acquire() accepts: 16 MiB.
  static constexpr std::uint64_t bytes_max = std::uint64_t{16} << 20U;

  // Returns a buffer of at least `bytes` bytes for the caller alone, until it is released. Precondition, unchecked:
  // `bytes` does not exceed bytes_max. Throws Failure: VECTIS_ALLOCATION when wgpu gives no buffer,
  // VECTIS_DEVICE_LOST when the device is lost.
  StagingBuffer& acquire(std::uint64_t bytes);

  // Makes a buffer of acquire() available again. Precondition: neither the caller nor the device uses it any more;
  // after a failed read() do not release it. Does not throw.
  void release(StagingBuffer& buffer);

 private:
  Gpu& gpu_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StagingBuffer>> all_;  // guarded by mutex_
  std::vector<StagingBuffer*> free_;                 // guarded by mutex_
};

}  // namespace vectis::webgpu
