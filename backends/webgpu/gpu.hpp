// A device opened through wgpu: its queue, whether it is lost, and how far its work has come. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "api.hpp"
#include "owned.hpp"

namespace vectis::webgpu {

class Gpu {
 public:
  // Asks the adapter for a device with these limits. Throws BACKEND_CREATION when it refuses.
  Gpu(const Api& api, WGPUAdapter adapter, const WGPULimits& limits);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] WGPUDevice device() const noexcept { return device_.get(); }
  [[nodiscard]] WGPUQueue queue() const noexcept { return queue_.get(); }
  [[nodiscard]] const WGPULimits& limits() const noexcept { return limits_; }

  // Throws DEVICE_LOST when the device is gone.
  void check() const;
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  // Ends the device as a driver's failure would.
  void lose();
  // Nobody ends the device while this is held. wgpu-native ends the process when it is asked for something of a buffer
  // or a queue that was destroyed, so such calls are made under it, after check().
  [[nodiscard]] std::shared_lock<std::shared_mutex> hold() { return std::shared_lock(ending_); }
  void note_lost(const std::string& why);

  // Hands over what was written to buffers and these commands, which may be null. Returns the place in the queue's
  // order, which is one order for all.
  std::uint64_t submit(WGPUCommandBuffer commands);
  // Whether all work up to the place is done.
  bool passed(std::uint64_t place);
  // Returns when it is.
  void wait(std::uint64_t place);
  // Lets wgpu call back; waits for the work up to `place` when it is given.
  void poll(const std::uint64_t* place);

  Owned<WGPUBuffer> make_buffer(std::uint64_t bytes, WGPUBufferUsage usage);

 private:
  void check_unclaimed();
  static void on_lost(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView, void*, void*);
  static void on_error(const WGPUDevice*, WGPUErrorType, WGPUStringView, void*, void*);
  static void on_done(WGPUQueueWorkDoneStatus, WGPUStringView, void*, void*);

  const Api& api_;
  WGPULimits limits_;
  std::atomic<bool> lost_{false};
  std::atomic<std::uint64_t> done_{0};
  mutable std::mutex mutex_;
  std::string why_lost_;   // guarded by mutex_
  std::string unclaimed_;  // what wgpu said outside of any trap; guarded by mutex_
  std::mutex submitting_;  // places are given in the order of the queue
  std::shared_mutex ending_;
  Owned<WGPUDevice> device_;
  Owned<WGPUQueue> queue_;
};

}  // namespace vectis::webgpu
