#include "staging.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "error_scope.hpp"

namespace vectis::webgpu {

namespace {

constexpr std::uint64_t bytes_min = std::uint64_t{64} << 10U;

void on_mapped(WGPUMapAsyncStatus status, WGPUStringView, void* target, void*) {
  static_cast<StagingBuffer*>(target)->map_status.store(status, std::memory_order_release);
}

}  // namespace

void StagingBuffer::read(Gpu& gpu, std::uint64_t submission, std::uint64_t skip, void* target, std::uint64_t bytes) {
  const Api& api = gpu.api();
  WGPUBuffer handle = buffer.buffer.get();
  const std::uint64_t mapped_bytes = (skip + bytes + 7) / 8 * 8;  // WebGPU maps multiples of 8 bytes
  map_status.store({}, std::memory_order_relaxed);
  {
    ErrorScope scope(gpu);
    api.BufferMapAsync(handle, WGPUMapMode_Read, 0, mapped_bytes,
                       {nullptr, WGPUCallbackMode_AllowSpontaneous, &on_mapped, this, nullptr});
    scope.check("mapping " + std::to_string(mapped_bytes) + " bytes", VECTIS_DRIVER_FAILURE);
  }
  while (map_status.load(std::memory_order_acquire) == WGPUMapAsyncStatus{}) {
    gpu.check();
    gpu.poll(&submission);
  }
  if (map_status.load(std::memory_order_acquire) != WGPUMapAsyncStatus_Success) {
    gpu.check();
    throw Failure(VECTIS_DRIVER_FAILURE,
                  "wgpuBufferMapAsync did not map " + std::to_string(mapped_bytes) + " bytes for the host");
  }
  const auto alive = gpu.keep_alive();
  gpu.check();
  const void* from = api.BufferGetConstMappedRange(handle, 0, mapped_bytes);
  if (from != nullptr) std::memcpy(target, static_cast<const std::byte*>(from) + skip, bytes);
  api.BufferUnmap(handle);
  if (from == nullptr)
    throw Failure(VECTIS_DRIVER_FAILURE, "wgpuBufferGetConstMappedRange returned null for a mapped buffer");
}

StagingBuffer& StagingBuffers::acquire(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = [bytes](const StagingBuffer* each) { return each->buffer.bytes >= bytes; };
  if (const auto found = std::find_if(free_.begin(), free_.end(), fits); found != free_.end()) {
    StagingBuffer& acquired = **found;
    free_.erase(found);
    return acquired;
  }
  const std::uint64_t size = std::max(std::bit_ceil(bytes), bytes_min);
  free_.reserve(all_.size() + 1);
  all_.push_back(std::unique_ptr<StagingBuffer>(
      new StagingBuffer{{gpu_.make_buffer(size, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst), size}}));
  return *all_.back();
}

void StagingBuffers::release(StagingBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(&buffer);
}

}  // namespace vectis::webgpu
