#include "vectis/device/context.hpp"

#include <fmt/format.h>

#include "device/call.hpp"
#include "device/cores.hpp"

namespace vectis::inline v0_1 {

DeviceContext::DeviceContext(const Device& device) : core_(std::make_shared<detail::ContextCore>(device.core())) {
  const detail::DeviceCore& target = *device.core();
  detail::call("create_context", *core_, core_->slots().context_create, target.backend->state, target.index,
               &core_->handle);
}

Device DeviceContext::device() const { return Device{core_->device}; }
bool DeviceContext::lost() const noexcept { return core_->lost.load(std::memory_order_acquire); }

DeviceMemory::DeviceMemory(const DeviceContext& context, std::uint64_t bytes)
    : core_(std::make_shared<detail::MemoryCore>(context.core())) {
  const detail::ContextCore& owner = *context.core();
  const std::uint64_t limit = owner.device->info.limits.allocation_bytes_max;
  if (bytes == 0) throw Error(ErrorCode::invalid_input, "allocate", "0 bytes were requested; request at least 1");
  if (bytes > limit) {
    throw Error(ErrorCode::invalid_input, "allocate",
                fmt::format("{} bytes were requested, but one allocation on {} has at most {}; split it into several",
                            bytes, detail::describe(*owner.device), limit));
  }
  detail::call("allocate", *core_->context, owner.slots().memory_allocate, owner.handle, bytes, &core_->handle);
  core_->bytes = bytes;
}

DeviceMemory DeviceMemory::slice(std::uint64_t offset, std::uint64_t bytes) const {
  constexpr std::string_view op = "slice";
  detail::ContextCore& owner = *core_->context;
  const std::uint64_t alignment = owner.device->info.limits.memory_alignment;
  if (bytes == 0 || offset > core_->bytes || bytes > core_->bytes - offset || offset % alignment != 0) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("a slice of {} bytes at offset {} does not fit a memory of {} bytes, or its offset is not "
                            "a multiple of {}; correct offset and size",
                            bytes, offset, core_->bytes, alignment));
  }
  // A slice of a slice is a slice of the whole.
  const auto& whole = core_->whole ? core_->whole : core_;
  auto part = std::make_shared<detail::MemoryCore>(whole);
  part->bytes = bytes;
  part->offset = core_->offset + offset;
  if (!detail::call_optional(op, owner, owner.slots().memory_slice, whole->handle, part->offset, bytes,
                             &part->handle)) {
    throw Error(ErrorCode::unsupported, op,
                fmt::format("{} has no memory slices; allocate the part separately", detail::describe(*owner.device)));
  }
  return DeviceMemory{std::move(part)};
}

bool DeviceMemory::can_slice(const DeviceContext& context) noexcept {
  return context.core()->slots().memory_slice != nullptr;
}

std::uint64_t DeviceMemory::bytes() const noexcept { return core_->bytes; }

DeviceContext DeviceMemory::context() const { return DeviceContext{core_->context}; }

std::byte* DeviceMemory::address() const {
  void* address = nullptr;
  detail::ContextCore& owner = *core_->context;
  if (!detail::call_optional("address", owner, owner.slots().memory_address, core_->handle, &address)) return nullptr;
  return static_cast<std::byte*>(address);
}

}  // namespace vectis::inline v0_1
