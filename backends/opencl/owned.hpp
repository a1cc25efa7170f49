// An OpenCL object released with its owner. A release that fails is ignored: nothing can be done about it.
#pragma once

#include <CL/cl.h>

#include <utility>

namespace vectis::opencl {

template <class Object>
class Owned {
 public:
  using Release = cl_int(CL_API_CALL*)(Object);

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
  ~Owned() {
    if (object_ != nullptr) release_(object_);
  }

  [[nodiscard]] Object get() const noexcept { return object_; }

 private:
  Object object_ = nullptr;
  Release release_ = nullptr;
};

}  // namespace vectis::opencl
