#include "gpu.hpp"

#include <utility>

#include "status.hpp"
#include "trap.hpp"

namespace vectis::webgpu {

namespace {

struct Requested {
  WGPUDevice device = nullptr;
  std::string words;
};

void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void* target, void*) {
  auto& requested = *static_cast<Requested*>(target);
  if (status == WGPURequestDeviceStatus_Success) {
    requested.device = device;
  } else {
    requested.words = tidy(from_view(message));
  }
}

}  // namespace

Gpu::Gpu(const Api& api, WGPUAdapter adapter, const WGPULimits& limits) : api_(api), limits_(limits) {
  limits_.nextInChain = nullptr;
  WGPUDeviceDescriptor wanted{};
  wanted.requiredLimits = &limits_;
  wanted.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous, &Gpu::on_lost, this, nullptr};
  wanted.uncapturedErrorCallbackInfo = {nullptr, &Gpu::on_error, this, nullptr};
  Requested requested;
  api.AdapterRequestDevice(adapter, &wanted,
                           {nullptr, WGPUCallbackMode_AllowSpontaneous, &on_device, &requested, nullptr});
  if (requested.device == nullptr) {
    throw Failure(VECTIS_BACKEND_CREATION, "the adapter refuses a device: " + requested.words);
  }
  device_ = Owned<WGPUDevice>(requested.device, api.DeviceRelease);
  queue_ = Owned<WGPUQueue>(api.DeviceGetQueue(requested.device), api.QueueRelease);
}

// What is under way still calls back into this object.
Gpu::~Gpu() {
  if (!lost()) poll(nullptr);
  queue_.reset();
  device_.reset();
}

void Gpu::check() const {
  if (!lost()) return;
  const std::lock_guard lock(mutex_);
  throw Failure(VECTIS_DEVICE_LOST, "the device is lost: " + why_lost_);
}

// Said first, so that others stop asking for the lock that is waited for here.
void Gpu::lose() {
  note_lost("it was given up");
  const std::lock_guard lock(ending_);
  api_.DeviceDestroy(device());
}

void Gpu::note_lost(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!lost_.exchange(true, std::memory_order_acq_rel)) why_lost_ = why;
}

void Gpu::check_unclaimed() {
  const std::lock_guard lock(mutex_);
  if (unclaimed_.empty()) return;
  throw Failure(VECTIS_DRIVER_FAILURE, std::exchange(unclaimed_, {}));
}

// wgpu-native ends the process when a submission fails. Command buffers were judged when they were finished, so what is
// left is a device that is gone: asking how far it is lets wgpu find that out and report it.
std::uint64_t Gpu::submit(WGPUCommandBuffer commands) {
  const auto held = hold();
  const std::lock_guard lock(submitting_);
  check();
  poll(nullptr);
  check();
  check_unclaimed();
  const std::uint64_t place = api_.QueueSubmitForIndex(queue(), commands == nullptr ? 0 : 1, &commands);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): wgpu hands back a pointer, and the place is what is to come back
  auto* const carried = reinterpret_cast<void*>(static_cast<std::uintptr_t>(place));
  api_.QueueOnSubmittedWorkDone(queue(), {nullptr, WGPUCallbackMode_AllowSpontaneous, &Gpu::on_done, this, carried});
  return place;
}

bool Gpu::passed(std::uint64_t place) {
  if (done_.load(std::memory_order_acquire) >= place) return true;
  check();
  poll(nullptr);
  return done_.load(std::memory_order_acquire) >= place;
}

void Gpu::wait(std::uint64_t place) {
  while (done_.load(std::memory_order_acquire) < place) {
    check();
    poll(&place);
  }
}

void Gpu::poll(const std::uint64_t* place) {
  api_.DevicePoll(device(), place == nullptr ? WGPU_FALSE : WGPU_TRUE, place);
}

Owned<WGPUBuffer> Gpu::make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) {
  check();
  WGPUBufferDescriptor wanted{};
  wanted.usage = usage;
  wanted.size = bytes;
  Trap trap(*this);
  Owned made(api_.DeviceCreateBuffer(device(), &wanted), api_.BufferRelease);
  trap.check("a buffer of " + std::to_string(bytes) + " bytes", VECTIS_ALLOCATION);
  if (made.get() == nullptr) {
    throw Failure(VECTIS_ALLOCATION, "wgpu gave no buffer of " + std::to_string(bytes) + " bytes");
  }
  return made;
}

void Gpu::on_lost(const WGPUDevice*, WGPUDeviceLostReason, WGPUStringView message, void* gpu, void*) {
  static_cast<Gpu*>(gpu)->note_lost(tidy(from_view(message)));
}

void Gpu::on_error(const WGPUDevice*, WGPUErrorType type, WGPUStringView message, void* gpu, void*) {
  auto& self = *static_cast<Gpu*>(gpu);
  if (Trap::keep(self, type, from_view(message))) return;
  const std::lock_guard lock(self.mutex_);
  if (self.unclaimed_.empty()) self.unclaimed_ = tidy(from_view(message));
}

void Gpu::on_done(WGPUQueueWorkDoneStatus, WGPUStringView, void* gpu, void* place) {
  auto& done = static_cast<Gpu*>(gpu)->done_;
  const std::uint64_t reached = reinterpret_cast<std::uintptr_t>(place);
  std::uint64_t before = done.load(std::memory_order_relaxed);
  while (before < reached && !done.compare_exchange_weak(before, reached, std::memory_order_acq_rel)) {
  }
}

}  // namespace vectis::webgpu
