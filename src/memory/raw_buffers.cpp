#include "memory/raw_buffers.hpp"

#include <fmt/format.h>

#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::invalid_input, "return_buffer", message);
}

}  // namespace

DeviceMemory RawBuffers::keep(int device, ManagedBuffer buffer) {
  DeviceMemory memory = buffer.memory();
  const std::lock_guard lock(mutex_);
  kept_.insert_or_assign(memory.core().get(), Kept{device, std::move(buffer)});
  return memory;
}

void RawBuffers::take_back(int device, const DeviceMemory& memory, std::size_t elements, Precision precision) {
  ManagedBuffer returned;  // goes back after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(memory.core().get());
  if (found == kept_.end()) refuse("this buffer is not out: it was returned before or never came from get_buffer");
  const Kept& kept = found->second;
  if (kept.device != device) refuse(fmt::format("this buffer is of device {}, not {}", kept.device, device));
  if (kept.buffer.elements() != elements || kept.buffer.precision() != precision) {
    refuse(fmt::format("this buffer has {} elements of {}, not {} of {}", kept.buffer.elements(),
                       name(kept.buffer.precision()), elements, name(precision)));
  }
  returned = std::move(found->second.buffer);
  kept_.erase(found);
}

}  // namespace vectis::inline v0_1::detail
