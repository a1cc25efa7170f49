// A handle of a C interface, released with its owner.
#pragma once

#include <utility>

namespace vectis::plugin {

// Owns `handle` and passes it to `destroy` when destroyed. A failed destroy is ignored: no caller could act on it.
// Destroy is a function pointer that takes a Handle; a value-initialized Handle means "empty".
template <class Handle, class Destroy>
class UniqueHandle {
 public:
  UniqueHandle() noexcept = default;
  explicit UniqueHandle(Destroy destroy) noexcept : destroy_(destroy) {}
  UniqueHandle(Handle handle, Destroy destroy) noexcept : handle_(handle), destroy_(destroy) {}
  UniqueHandle(UniqueHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})), destroy_(other.destroy_) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  [[nodiscard]] Handle get() const noexcept { return handle_; }

  // Where a create function writes the new handle. The object must be empty.
  [[nodiscard]] Handle* out() noexcept { return &handle_; }

  // Gives up ownership.
  Handle release() noexcept { return std::exchange(handle_, Handle{}); }

  void reset() noexcept {
    if (handle_ != Handle{}) static_cast<void>(destroy_(release()));
  }

 private:
  Handle handle_{};
  Destroy destroy_{};
};

}  // namespace vectis::plugin
