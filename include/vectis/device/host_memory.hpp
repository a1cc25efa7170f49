// Memory of the host for copies to and from a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"

namespace vectis::inline v0_1 {

// Bytes of the host, pinned where the context's backend has such memory: copies between them and its devices need no
// detour and run beside the host. Ordinary memory where it has none, or no more. Movable; the streams that use it are
// waited for before it goes. One thread at a time.
class VECTIS_API HostMemory {
 public:
  HostMemory(const DeviceContext& context, std::size_t bytes);
  HostMemory(HostMemory&&) noexcept;
  HostMemory& operator=(HostMemory&&) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {address_, size_}; }
  [[nodiscard]] bool pinned() const noexcept { return ordinary_ == nullptr && address_ != nullptr; }

 private:
  std::shared_ptr<detail::ContextCore> context_;
  std::unique_ptr<std::byte[]> ordinary_;
  std::byte* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace vectis::inline v0_1
