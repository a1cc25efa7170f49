// The limit on the bytes that pools hold in one physical memory; sub-devices, and the devices by which several backends
// see one card, share one budget.
#pragma once

#include <cstdint>
#include <mutex>

namespace vectis::inline v0_1::detail {

// Limits the bytes that the pools of devices with one physical memory hold together. take() returns false beyond the
// limit. Thread-safe.
class Budget {
 public:
  explicit Budget(std::uint64_t limit) : limit_(limit) {}

  // Reserves `bytes` and returns true, or reserves nothing and returns false when that would exceed the limit. Every
  // reservation must be returned by give().
  [[nodiscard]] bool take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ || used_ > limit_ - bytes) return false;
    used_ += bytes;
    return true;
  }
  // Returns `bytes`, which must have been reserved by take().
  void give(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }
  // Changes the limit. Bytes reserved beyond a lower limit stay reserved, and take() fails until enough are returned.
  void set_limit(std::uint64_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
  }
  [[nodiscard]] std::uint64_t limit() const {
    const std::lock_guard lock(mutex_);
    return limit_;
  }
  // Returns whether more bytes are reserved than a lowered limit allows.
  [[nodiscard]] bool is_exceeded() const {
    const std::lock_guard lock(mutex_);
    return used_ > limit_;
  }
  // Returns the bytes that take() can still reserve; 0 when a lowered limit is already exceeded.
  [[nodiscard]] std::uint64_t left() const {
    const std::lock_guard lock(mutex_);
    return used_ > limit_ ? 0 : limit_ - used_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
};

}  // namespace vectis::inline v0_1::detail
