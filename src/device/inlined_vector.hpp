// A list made for one call, on the stack while it is short: a launch should not ask the allocator for anything.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace vectis::inline v0_1::detail {

template <class T, std::size_t ShortLength>
class InlinedVector {
 public:
  explicit InlinedVector(std::size_t length) : length_(length) {
    if (length > ShortLength) long_.resize(length);
  }
  [[nodiscard]] std::span<T> get() noexcept { return {length_ > ShortLength ? long_.data() : short_.data(), length_}; }

 private:
  std::size_t length_;
  std::array<T, ShortLength> short_;  // only what the list's length covers is ever written or read
  std::vector<T> long_;
};

}  // namespace vectis::inline v0_1::detail
