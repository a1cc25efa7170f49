#include "backends/failing/account.hpp"

namespace failing {

void Account::set_total(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  total_ = bytes;
}

void Account::set_others(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  others_ = bytes;
}

std::uint64_t Account::free_now() const {
  const std::uint64_t held = used_ + others_;
  return held > total_ ? 0 : total_ - held;
}

bool Account::take(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (total_ != 0 && bytes > free_now()) return false;
  used_ += bytes;
  return true;
}

void Account::give(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

void Account::remember(const VectisMemory* memory, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  sizes_[memory] = bytes;
}

void Account::forget(const VectisMemory* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) return;
  used_ -= found->second;
  sizes_.erase(found);
}

bool Account::state(std::uint64_t* total, std::uint64_t* free) const {
  const std::lock_guard lock(mutex_);
  if (total_ == 0) return false;
  *total = total_;
  *free = free_now();
  return true;
}

Account& account() {
  static Account one;
  return one;
}

}  // namespace failing
