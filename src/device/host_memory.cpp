#include "vectis/device/host_memory.hpp"

#include <utility>

#include "device/call.hpp"
#include "device/pinned.hpp"

namespace vectis::inline v0_1 {

std::byte* detail::pin(ContextCore& context, std::uint64_t bytes) {
  if (context.slots().host_allocate == nullptr || context.slots().host_free == nullptr) return nullptr;
  void* address = nullptr;
  try {
    if (!call_optional("host_allocate", context, context.slots().host_allocate, context.handle, bytes, &address)) {
      return nullptr;
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::allocation) throw;
  }
  return static_cast<std::byte*>(address);
}

void detail::unpin(const ContextCore& context, std::byte* pinned) noexcept {
  context.slots().host_free(context.handle, pinned);
}

HostMemory::HostMemory(const DeviceContext& context, std::size_t bytes) : context_(context.core()), size_(bytes) {
  if (bytes == 0) return;
  address_ = detail::pin(*context_, bytes);
  if (address_ != nullptr) return;
  ordinary_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  address_ = ordinary_.get();
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : context_(std::move(other.context_)),
      ordinary_(std::move(other.ordinary_)),
      address_(std::exchange(other.address_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  HostMemory taken(std::move(other));
  std::swap(context_, taken.context_);
  std::swap(ordinary_, taken.ordinary_);
  std::swap(address_, taken.address_);
  std::swap(size_, taken.size_);
  return *this;
}

HostMemory::~HostMemory() {
  if (pinned()) detail::unpin(*context_, address_);
}

}  // namespace vectis::inline v0_1
