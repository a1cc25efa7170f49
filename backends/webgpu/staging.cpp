#include "staging.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "status.hpp"
#include "trap.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::uint64_t bytes_min = std::uint64_t{64} << 10U;

void on_mapped(WGPUMapAsyncStatus status, WGPUStringView, void* target, void*) {
  static_cast<StagingBuffer*>(target)->mapped.store(status, std::memory_order_release);
}

}  // namespace

void StagingBuffer::read(Gpu& gpu, std::uint64_t place, std::uint64_t skip, void* target, std::uint64_t bytes) {
  const Api& api = gpu.api();
  WGPUBuffer handle = buffer.buffer.get();
  const std::uint64_t whole = (skip + bytes + 7) / 8 * 8;  // what may be mapped ends at a multiple of 8
  mapped.store({}, std::memory_order_relaxed);
  {
    Trap trap(gpu);
    api.BufferMapAsync(handle, WGPUMapMode_Read, 0, whole,
                       {nullptr, WGPUCallbackMode_AllowSpontaneous, &on_mapped, this, nullptr});
    trap.check("mapping " + std::to_string(whole) + " bytes", VECTIS_DRIVER_FAILURE);
  }
  while (mapped.load(std::memory_order_acquire) == WGPUMapAsyncStatus{}) {
    gpu.check();
    gpu.poll(&place);
  }
  if (mapped.load(std::memory_order_acquire) != WGPUMapAsyncStatus_Success) {
    gpu.check();
    throw Failure(VECTIS_DRIVER_FAILURE, "wgpu did not map " + std::to_string(whole) + " bytes for the host");
  }
  const auto held = gpu.hold();
  gpu.check();
  const void* from = api.BufferGetConstMappedRange(handle, 0, whole);
  if (from != nullptr) std::memcpy(target, static_cast<const std::byte*>(from) + skip, bytes);
  api.BufferUnmap(handle);
  if (from == nullptr) throw Failure(VECTIS_DRIVER_FAILURE, "wgpu mapped a buffer and does not say where");
}

StagingBuffer& StagingBuffers::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = [bytes](const StagingBuffer* each) { return each->buffer.bytes >= bytes; };
  if (const auto found = std::find_if(free_.begin(), free_.end(), fits); found != free_.end()) {
    StagingBuffer& taken = **found;
    free_.erase(found);
    return taken;
  }
  const std::uint64_t size = std::max(std::bit_ceil(bytes), bytes_min);
  free_.reserve(all_.size() + 1);
  all_.push_back(std::unique_ptr<StagingBuffer>(
      new StagingBuffer{{gpu_.make_buffer(size, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst), size}}));
  return *all_.back();
}

void StagingBuffers::give_back(StagingBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&buffer);
}

}  // namespace vectis::webgpu
