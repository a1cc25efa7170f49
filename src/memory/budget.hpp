// The limit on the bytes that pools hold in one physical memory; sub-devices share one budget.
#pragma once

#include <cstdint>
#include <mutex>

namespace vectis::inline v0_1::detail {

// Thread-safe.
class Budget {
 public:
  explicit Budget(std::uint64_t limit) : limit_(limit) {}

  // Reserves `bytes`; false, and nothing reserved, when that would exceed the limit.
  [[nodiscard]] bool take(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ || used_ > limit_ - bytes) return false;
    used_ += bytes;
    return true;
  }
  void give(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
  }
  void set_limit(std::uint64_t limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
  }
  [[nodiscard]] std::uint64_t limit() const {
    const std::lock_guard lock(mutex_);
    return limit_;
  }
  // Bytes that can still be taken; 0 when a lowered limit is already exceeded.
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
