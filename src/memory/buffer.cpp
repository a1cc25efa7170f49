#include "vectis/memory/buffer.hpp"

#include <utility>

#include "memory/device_pool.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

ManagedBuffer::ManagedBuffer(ManagedBuffer&& other) noexcept
    : pool_(other.pool_),
      block_(std::exchange(other.block_, nullptr)),
      elements_(std::exchange(other.elements_, 0)),
      precision_(other.precision_) {}

ManagedBuffer& ManagedBuffer::operator=(ManagedBuffer&& other) noexcept {
  ManagedBuffer taken(std::move(other));  // its destructor returns the buffer held before
  std::swap(pool_, taken.pool_);
  std::swap(block_, taken.block_);
  std::swap(elements_, taken.elements_);
  std::swap(precision_, taken.precision_);
  return *this;
}

const DeviceMemory& ManagedBuffer::memory() const {
  if (block_ == nullptr) {
    throw Error(ErrorCode::invalid_input, "buffer", "the buffer is empty: released or moved from; request a new one");
  }
  return block_->memory;
}

void ManagedBuffer::release() noexcept {
  if (block_ == nullptr) return;
  pool_->release(std::exchange(block_, nullptr));
  elements_ = 0;
}

}  // namespace vectis::inline v0_1
