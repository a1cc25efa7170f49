#include "gpu.hpp"

#include <utility>

#include "error_scope.hpp"

namespace vectis::webgpu {

namespace {

struct RequestedDevice {
  WGPUDevice device = nullptr;
  std::string error;
};

void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void* target, void*) {
  auto& requested = *static_cast<RequestedDevice*>(target);
  if (status == WGPURequestDeviceStatus_Success) {
    requested.device = device;
  } else {
    requested.error = copy_error(from_view(message));
  }
}

}  // namespace

Gpu::Gpu(const Api& api, WGPUAdapter adapter, const WGPULimits& limits) : api_(api), limits_(limits) {
  limits_.nextInChain = nullptr;
  WGPUDeviceDescriptor descriptor{};
  descriptor.requiredLimits = &limits_;
  descriptor.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous, &Gpu::on_lost, this, nullptr};
  descriptor.uncapturedErrorCallbackInfo = {nullptr, &Gpu::on_error, this, nullptr};
  RequestedDevice requested;
  api.AdapterRequestDevice(adapter, &descriptor,
                           {nullptr, WGPUCallbackMode_AllowSpontaneous, &on_device, &requested, nullptr});
  if (requested.device == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION, "the adapter gave no device: " + requested.error);
  }
  device_ = Owned<WGPUDevice>(requested.device, api.DeviceRelease);
  queue_ = Owned<WGPUQueue>(api.DeviceGetQueue(requested.device), api.QueueRelease);
}

// Callbacks of work in flight still refer to this object: wgpu gets a chance to run them.
Gpu::~Gpu() {
  if (!lost()) poll(nullptr);
  queue_.reset();
  device_.reset();
}

void Gpu::check() const {
  if (!lost()) return;
  const std::lock_guard lock(mutex_);
  throw Failure(VECTIS_DEVICE_LOST, "the device is lost: " + loss_reason_);
}

// Marked first, so that other threads stop taking the lock that this one waits for.
void Gpu::destroy_device() {
  mark_lost("it was destroyed on request");
  const std::lock_guard lock(destroying_);
  api_.DeviceDestroy(device());
}

void Gpu::mark_lost(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (!lost_.exchange(true, std::memory_order_acq_rel)) loss_reason_ = std::move(reason);
}

void Gpu::check_uncaptured() {
  const std::lock_guard lock(mutex_);
  if (uncaptured_.empty()) return;
  throw Failure(VECTIS_DRIVER_FAILURE, std::exchange(uncaptured_, {}));
}

// wgpu-native aborts the process when a submission fails. Command buffers were validated when they were finished, so
// the remaining cause is a lost device: polling lets wgpu notice the loss and report it before the submission.
std::uint64_t Gpu::submit(WGPUCommandBuffer commands) {
  const auto alive = keep_alive();
  const std::lock_guard lock(submitting_);
  check();
  poll(nullptr);
  check();
  check_uncaptured();
  const std::uint64_t submission = api_.QueueSubmitForIndex(queue(), commands == nullptr ? 0 : 1, &commands);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the index travels through wgpu as the callback's pointer
  auto* const user_data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(submission));
  api_.QueueOnSubmittedWorkDone(queue(), {nullptr, WGPUCallbackMode_AllowSpontaneous, &Gpu::on_done, this, user_data});
  return submission;
}

// A loss is checked after the progress is read: wgpu reports all work of a device that it lost as done.
bool Gpu::is_done(std::uint64_t submission) {
  check();
  if (done_.load(std::memory_order_acquire) < submission) poll(nullptr);
  const bool done = done_.load(std::memory_order_acquire) >= submission;
  check();
  return done;
}

void Gpu::wait(std::uint64_t submission) {
  check();
  while (done_.load(std::memory_order_acquire) < submission) {
    poll(&submission);
    check();
  }
  check();
}

void Gpu::poll(const std::uint64_t* submission) {
  api_.DevicePoll(device(), submission == nullptr ? WGPU_FALSE : WGPU_TRUE, submission);
}

Owned<WGPUBuffer> Gpu::make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) {
  check();
  WGPUBufferDescriptor descriptor{};
  descriptor.usage = usage;
  descriptor.size = bytes;
  ErrorScope scope(*this);
  Owned<WGPUBuffer> created(api_.DeviceCreateBuffer(device(), &descriptor), api_.BufferRelease);
  scope.check("a buffer of " + std::to_string(bytes) + " bytes", VECTIS_ALLOCATION);
  if (created.get() == nullptr) {
    throw Failure(VECTIS_ALLOCATION, "wgpuDeviceCreateBuffer returned null for " + std::to_string(bytes) + " bytes");
  }
  return created;
}

void Gpu::on_lost(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView message, void* gpu, void*) {
  static_cast<Gpu*>(gpu)->mark_lost(copy_error(from_view(message)));
}

void Gpu::on_error(const WGPUDevice*, WGPUErrorType type, WGPUStringView message, void* gpu, void*) {
  auto& self = *static_cast<Gpu*>(gpu);
  if (ErrorScope::capture(self, type, from_view(message))) return;
  const std::lock_guard lock(self.mutex_);
  if (self.uncaptured_.empty()) self.uncaptured_ = copy_error(from_view(message));
}

void Gpu::on_done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void* gpu, void* submission) {
  auto& self = *static_cast<Gpu*>(gpu);
  if (status != WGPUQueueWorkDoneStatus_Success) {
    const std::string_view text = from_view(message);
    self.mark_lost(copy_error(text.empty() ? "its work did not end" : text));
    return;
  }
  auto& done = self.done_;
  const std::uint64_t reached = reinterpret_cast<std::uintptr_t>(submission);
  std::uint64_t before = done.load(std::memory_order_relaxed);
  while (before < reached && !done.compare_exchange_weak(before, reached, std::memory_order_acq_rel)) {
  }
}

}  // namespace vectis::webgpu
