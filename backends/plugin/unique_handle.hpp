// A handle of a C interface, released with its owner.
#pragma once

#include <utility>

namespace vectis::plugin {

// Owns a handle of a C interface and passes it to `destroy`, a function pointer that takes a Handle, when destroyed.
// A value-initialized Handle means "empty" and is not destroyed. A failed destroy is ignored: no caller could act on
// it. Not thread-safe.
template <class Handle, class Destroy>
class UniqueHandle {
 public:
  UniqueHandle() noexcept = default;
  // Creates an empty object that destroys the handle that out() receives. `destroy` must not be null then.
  explicit UniqueHandle(Destroy destroy) noexcept : destroy_(destroy) {}
  // Takes ownership of `handle`, which may be empty. Precondition: `destroy` is not null unless `handle` is empty.
  UniqueHandle(Handle handle, Destroy destroy) noexcept : handle_(handle), destroy_(destroy) {}
  // Takes the handle of `other`, which becomes empty.
  UniqueHandle(UniqueHandle&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})), destroy_(other.destroy_) {}
  // Swaps the handles: `other` destroys the former handle of this object when `other` is destroyed.
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  // Returns the handle, which this object keeps owning; a value-initialized one when the object is empty.
  [[nodiscard]] Handle get() const noexcept { return handle_; }

  // Returns the address to which a create function writes the new handle. Precondition: the object is empty, since a
  // handle that it owns would leak, and has a `destroy`.
  [[nodiscard]] Handle* out() noexcept { return &handle_; }

  // Returns the handle and gives up its ownership: the caller destroys it, and the object is empty.
  Handle release() noexcept { return std::exchange(handle_, Handle{}); }

  // Destroys the handle, if there is one, and makes the object empty. A failed destroy is ignored.
  void reset() noexcept {
    if (handle_ != Handle{}) static_cast<void>(destroy_(release()));
  }

 private:
  Handle handle_{};
  Destroy destroy_{};
};

}  // namespace vectis::plugin
