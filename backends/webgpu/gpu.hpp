// A WebGPU device with its queue: whether it is lost, and which of its submissions are done.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "api.hpp"

namespace vectis::webgpu {

// A WebGPU device with its one queue, which all streams share. A submission is an index of that queue; 0 means none.
// Thread-safe. Once the device is lost, functions that need it throw Failure with VECTIS_DEVICE_LOST.
class Gpu {
 public:
  // Requests a device with these limits from the adapter. `api` must outlive this object, and the limits must not
  // exceed the adapter's. Throws Failure with VECTIS_BACKEND_CREATION and wgpu's message when the adapter gives no
  // device.
  Gpu(const Api& api, WGPUAdapter adapter, const WGPULimits& limits);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] WGPUDevice device() const noexcept { return device_.get(); }
  [[nodiscard]] WGPUQueue queue() const noexcept { return queue_.get(); }
  [[nodiscard]] const WGPULimits& limits() const noexcept { return limits_; }

  // Does nothing while the device works; throws Failure with VECTIS_DEVICE_LOST and the reason when it is lost.
  void check() const;
  // Returns whether the device is lost, which is final. Does not throw.
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  // Declares the device lost, so that check() throws with `reason` from now on. The first reason stays.
  void mark_lost(std::string reason);

  // Declares the device lost and destroys it, as a failing driver would. Waits until no thread holds keep_alive():
  // the calling thread must not hold it. Does not throw.
  void destroy_device();

  // Returns a lock that delays destroy_device(). wgpu-native aborts the process when it is given a buffer or a queue
  // of a destroyed device: make calls that use them under this lock, after check().
  [[nodiscard]] std::shared_lock<std::shared_mutex> keep_alive() { return std::shared_lock(destroying_); }

  // Submits pending buffer writes and `commands`, which may be null, and returns the index of the submission.
  // Precondition: the commands were finished without an error. Throws Failure, with nothing submitted:
  // VECTIS_DEVICE_LOST, or VECTIS_DRIVER_FAILURE for an earlier error that no ErrorScope captured.
  std::uint64_t submit(WGPUCommandBuffer commands);

  // Returns whether all work up to this submission, an index that submit() returned or 0, is done. Does not wait.
  // Throws Failure with VECTIS_DEVICE_LOST when the device was lost before.
  bool is_done(std::uint64_t submission);

  // Returns when all work up to this submission, an index that submit() returned or 0, is done. Throws Failure with
  // VECTIS_DEVICE_LOST when the device is lost before.
  void wait(std::uint64_t submission);

  // Runs wgpu's pending callbacks, and first waits for *submission when `submission` is not null. Reports no failure:
  // call check() afterwards.
  void poll(const std::uint64_t* submission);

  // Creates a device buffer of `bytes` bytes, which must be within the device's limits. Throws Failure:
  // VECTIS_ALLOCATION when wgpu rejects the size or has no memory, VECTIS_DEVICE_LOST when the device is lost,
  // VECTIS_DRIVER_FAILURE for an error inside wgpu.
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
