// The bytes that all pools of one physical memory may hold together: sub-devices share it.
#pragma once

#include <cstdint>
#include <mutex>

namespace vectis::inline v0_1::detail {

// Thread-safe.
class Budget {
 public:
  explicit Budget(std::uint64_t limit) : limit_(limit) {}

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
  // How much more may be taken.
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
