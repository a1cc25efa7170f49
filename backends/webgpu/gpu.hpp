// A WebGPU device with its queue: whether it is lost, and which of its submissions are done.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "api.hpp"

namespace vectis::webgpu {

// A submission is an index of the queue, which all streams of the device share; 0 means none. Thread-safe.
class Gpu {
 public:
  // Requests a device with these limits from the adapter. Throws BACKEND_CREATION when the adapter gives none.
  Gpu(const Api& api, WGPUAdapter adapter, const WGPULimits& limits);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] WGPUDevice device() const noexcept { return device_.get(); }
  [[nodiscard]] WGPUQueue queue() const noexcept { return queue_.get(); }
  [[nodiscard]] const WGPULimits& limits() const noexcept { return limits_; }

  // Throws DEVICE_LOST when the device is lost.
  void check() const;
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  void mark_lost(const std::string& reason);
  // Destroys the device, as a failing driver would.
  void destroy_device();
  // While the lock is held destroy_device waits. wgpu-native aborts the process when it is given a buffer or a queue of
  // a destroyed device, so calls that use them are made under this lock, after check().
  [[nodiscard]] std::shared_lock<std::shared_mutex> keep_alive() { return std::shared_lock(destroying_); }

  // Submits pending buffer writes and `commands`, which may be null. Throws DEVICE_LOST, and DRIVER_FAILURE for an
  // earlier error that no scope captured.
  std::uint64_t submit(WGPUCommandBuffer commands);
  // Whether all work up to this submission is done. Throws DEVICE_LOST.
  bool is_done(std::uint64_t submission);
  // Returns when it is. Throws DEVICE_LOST.
  void wait(std::uint64_t submission);
  // Runs wgpu's pending callbacks; waits for the submission when one is given.
  void poll(const std::uint64_t* submission);

  // Throws ALLOCATION when wgpu gives no buffer.
  Owned<WGPUBuffer> make_buffer(std::uint64_t bytes, WGPUBufferUsage usage);

 private:
  void check_uncaptured();
  static void on_lost(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView, void*, void*);
  static void on_error(const WGPUDevice*, WGPUErrorType, WGPUStringView, void*, void*);
  static void on_done(WGPUQueueWorkDoneStatus, WGPUStringView, void*, void*);

  const Api& api_;
  WGPULimits limits_;
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> done_{0};  // the last submission known to be done
  mutable std::mutex mutex_;
  std::string loss_reason_;  // guarded by mutex_
  std::string uncaptured_;   // the first error outside of any ErrorScope; guarded by mutex_
  std::mutex submitting_;    // keeps submissions in the order of their indices
  std::shared_mutex destroying_;
  Owned<WGPUDevice> device_;
  Owned<WGPUQueue> queue_;
};

}  // namespace vectis::webgpu
