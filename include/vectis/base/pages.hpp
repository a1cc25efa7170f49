// Large host memory: whole pages, zeroed, in huge pages where the system gives them.
#pragma once

#include <cstddef>
#include <utility>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// Owns its pages. Movable; one thread at a time, like a pointer.
class VECTIS_API Pages {
 public:
  Pages() noexcept = default;
  // Zeroed and aligned to 64 bytes at least; what is never touched costs no memory. Allocation with the bytes asked for
  // and those available when the system refuses.
  explicit Pages(std::size_t bytes);
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept;
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace vectis::inline v0_1
