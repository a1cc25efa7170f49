// Device memory that returns itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vectis/base/dtype.hpp"
#include "vectis/base/export.hpp"
#include "vectis/device/context.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1 {

namespace detail {
class DevicePool;
struct PoolBlock;
}  // namespace detail

// A buffer of a pool. It goes back when it is destroyed or released, on whatever path, and must not outlive the
// Runtime. Movable; one thread at a time.
class VECTIS_API ManagedBuffer {
 public:
  ManagedBuffer() noexcept = default;  // holds nothing
  ManagedBuffer(ManagedBuffer&& other) noexcept;
  ManagedBuffer& operator=(ManagedBuffer&& other) noexcept;
  ManagedBuffer(const ManagedBuffer&) = delete;
  ManagedBuffer& operator=(const ManagedBuffer&) = delete;
  ~ManagedBuffer() { release(); }

  // False after release or a move.
  [[nodiscard]] explicit operator bool() const noexcept { return block_ != nullptr; }
  // The device's memory, at least bytes() long. InvalidInput when the buffer holds nothing any more.
  [[nodiscard]] const DeviceMemory& memory() const;
  [[nodiscard]] std::size_t elements() const noexcept { return elements_; }
  [[nodiscard]] Precision precision() const noexcept { return precision_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return elements_ * size_of(precision_); }

  // Gives it back now. With a stream, work of that stream may still be using it: the pool keeps the order.
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
