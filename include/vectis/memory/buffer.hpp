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

// Owns one buffer of device memory from a MemoryPool and returns it to the pool when destroyed or released. Must not
// outlive the pool's Runtime. Movable, not copyable. One thread at a time. memory() throws InvalidInput when the
// buffer is empty.
class VECTIS_API ManagedBuffer {
 public:
  ManagedBuffer() noexcept = default;  // empty
  // Takes over the buffer of `other`, which is empty afterwards. Does not throw.
  ManagedBuffer(ManagedBuffer&& other) noexcept;
  // Takes over the buffer of `other`, which is empty afterwards, and returns the buffer held before, if any, to its
  // pool. The buffer held before must be idle unless it was requested with a stream. Does not throw.
  ManagedBuffer& operator=(ManagedBuffer&& other) noexcept;
  ManagedBuffer(const ManagedBuffer&) = delete;
  ManagedBuffer& operator=(const ManagedBuffer&) = delete;
  ~ManagedBuffer() { release(); }

  // Returns true when the buffer owns memory, false when it is empty: default-constructed, released or moved from.
  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }
  // Returns the device memory, at least bytes() long; the reference is valid until the buffer is released. Throws
  // InvalidInput when the buffer is empty: default-constructed, released or moved from.
  [[nodiscard]] const DeviceMemory& memory() const;
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return elements_ * size_of(precision_); }

  // Returns the memory to the pool now and leaves the buffer empty; does nothing for an empty buffer. A buffer
  // requested with a stream may be released while that stream still uses it (stream-ordered), by the thread that uses
  // the stream; any other buffer must be idle. In a forked child it only empties the buffer. Does not throw.
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
