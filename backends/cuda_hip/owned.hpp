// Objects of the driver that go with their owner. A release that fails is ignored: nothing can be done about it.
#pragma once

#include <utility>

#include "own.hpp"

namespace vectis::cuda_hip {

// A context held for as long as this lives.
class SharedContext {
 public:
  SharedContext(const Api& api, DeviceId device) : api_(&api), device_(device), handle_(retain_context(api, device)) {}
  ~SharedContext() { release_context(*api_, device_); }
  SharedContext(const SharedContext&) = delete;
  SharedContext& operator=(const SharedContext&) = delete;

  [[nodiscard]] ContextHandle get() const noexcept { return handle_; }

 private:
  const Api* api_;
  DeviceId device_;
  ContextHandle handle_;
};

// An object between its making and the moment its keeper has it. `Release` is a member of Api.
template <class Handle, class Release>
class Guard {
 public:
  Guard(Handle handle, Release release) noexcept : handle_(handle), release_(release) {}
  ~Guard() {
    if (held_) static_cast<void>(release_(handle_));
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  [[nodiscard]] Handle get() const noexcept { return handle_; }
  Handle give() noexcept {
    held_ = false;
    return handle_;
  }

 private:
  Handle handle_;
  Release release_;
  bool held_ = true;
};

}  // namespace vectis::cuda_hip
