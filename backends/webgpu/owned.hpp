// An object of wgpu released with its owner.
#pragma once

#include <utility>

namespace vectis::webgpu {

template <class Object>
class Owned {
 public:
  using Release = void (*)(Object);

  Owned() noexcept = default;
  Owned(Object object, Release release) noexcept : object_(object), release_(release) {}
  Owned(Owned&& other) noexcept : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  [[nodiscard]] Object get() const noexcept { return object_; }
  void reset() noexcept {
    if (Object object = std::exchange(object_, nullptr)) release_(object);
  }

 private:
  Object object_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace vectis::webgpu
