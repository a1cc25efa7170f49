#include "vectis/memory/resource.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

DeviceResource::DeviceResource(DeviceContext context) : context_(std::move(context)) {}

MemoryBlock DeviceResource::allocate(const MemoryRequest& request) {
  return {DeviceMemory(context_, request.bytes), request.bytes};
}

// The destruction of the last handle frees the memory.
void DeviceResource::deallocate(MemoryBlock /*block*/, Stream* /*stream*/) noexcept {}

LimitResource::LimitResource(MemoryResource& upstream, std::uint64_t limit_bytes)
    : upstream_(upstream), limit_(limit_bytes) {}

MemoryBlock LimitResource::allocate(const MemoryRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    if (request.bytes > limit_ || used_ > limit_ - request.bytes) {
      throw Error(ErrorCode::allocation, "allocate",
                  fmt::format("{} bytes requested, {} in use, limit {}; free buffers or raise the limit", request.bytes,
                              used_, limit_));
    }
    used_ += request.bytes;
  }
  try {
    return upstream_.allocate(request);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    used_ -= request.bytes;
    throw;
  }
}

void LimitResource::deallocate(MemoryBlock block, Stream* stream) noexcept {
  const std::uint64_t bytes = block.bytes;
  upstream_.deallocate(std::move(block), stream);
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

std::uint64_t LimitResource::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

StatisticsResource::StatisticsResource(MemoryResource& upstream) : upstream_(upstream) {}

MemoryBlock StatisticsResource::allocate(const MemoryRequest& request) {
  try {
    MemoryBlock block = upstream_.allocate(request);
    const std::lock_guard lock(mutex_);
    ++statistics_.allocations;
    statistics_.live_bytes += block.bytes;
    statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.live_bytes);
    return block;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++statistics_.failures;
    throw;
  }
}

void StatisticsResource::deallocate(MemoryBlock block, Stream* stream) noexcept {
  const std::uint64_t bytes = block.bytes;
  upstream_.deallocate(std::move(block), stream);
  const std::lock_guard lock(mutex_);
  ++statistics_.deallocations;
  statistics_.live_bytes -= bytes;
}

ResourceStatistics StatisticsResource::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

FailingResource::FailingResource(MemoryResource& upstream, Rule rule) : upstream_(upstream), rule_(std::move(rule)) {}

MemoryBlock FailingResource::allocate(const MemoryRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (rule_(calls_, request)) {
      throw Error(ErrorCode::allocation, "allocate",
                  fmt::format("injected failure at call {}, {} bytes", calls_, request.bytes));
    }
  }
  return upstream_.allocate(request);
}

void FailingResource::deallocate(MemoryBlock block, Stream* stream) noexcept {
  upstream_.deallocate(std::move(block), stream);
}

}  // namespace vectis::inline v0_1
