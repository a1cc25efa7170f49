// Device memory owned by RAII.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1 {

namespace detail {
class DevicePool;
struct PoolBlock;
}  // namespace detail

// Owns one buffer of a MemoryPool and returns it to the pool when destroyed or released. Must not outlive the pool's
// Runtime. Movable, not copyable. One thread at a time.
class VECTIS_API ManagedBuffer {
 public:
  ManagedBuffer() noexcept = default;  // empty
  ManagedBuffer(ManagedBuffer&& other) noexcept;
  // Returns the buffer held before, if any, to its pool.
  ManagedBuffer& operator=(ManagedBuffer&& other) noexcept;
  ManagedBuffer(const ManagedBuffer&) = delete;
  ManagedBuffer& operator=(const ManagedBuffer&) = delete;
  ~ManagedBuffer() { release(); }

  // False for an empty buffer: default-constructed, released or moved from.
  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }
  // The device memory, at least bytes() long. Throws InvalidInput for an empty buffer.
  [[nodiscard]] const DeviceMemory& memory() const;
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return elements_ * size_of(precision_); }

  // Returns the memory to the pool now; does nothing for an empty buffer. A buffer requested with a stream may be
  // released while that stream still uses it (stream-ordered); any other must be idle.
  void release() noexcept;

 private:
  friend class MemoryPool;
  ManagedBuffer(detail::DevicePool* pool, detail::PoolBlock* block, std::size_t elements, Precision precision) noexcept
      : pool_(pool), block_(block), elements_(elements), precision_(precision) {}

  detail::DevicePool* pool_ = nullptr;
  detail::PoolBlock* block_ = nullptr;
  std::size_t elements_ = 0;
  Precision precision_ = Precision::fp32;
};

}  // namespace vectis::inline v0_1
