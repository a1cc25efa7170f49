// Calls slots of the backend ABI: checks for fork and lost device before, and turns the status into an Error after.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "device/cores.hpp"
#include "vectis/device/backend.h"

namespace vectis::inline v0_1::detail {

// The message buffer of a slot call, large enough for a compiler's output.
class SlotMessage {
 public:
  SlotMessage() { text_[0] = '\0'; }
  VectisMessage* get() noexcept { return &message_; }
  // The text that the slot wrote; cut at the end of the buffer if it is not terminated.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] VectisReason reason() const noexcept { return message_.reason; }

 private:
  std::array<char, 16384> text_;  // only the first byte is cleared: most calls write nothing
  VectisMessage message_{sizeof(VectisMessage), text_.data(), text_.size(), VECTIS_REASON_NONE};
};

ErrorCode to_error_code(VectisStatus status) noexcept;

// The Error for a failed slot on `where` ("opencl:0 (name)").
Error slot_error(std::string_view op, const std::string& where, VectisStatus status, const SlotMessage& message);

// Throws Forked in a child process, DeviceLost when the context is lost.
void check_usable(std::string_view op, const ContextCore& context);

// Throws the Error for `status`; DeviceLost also marks the context as lost.
[[noreturn]] void fail(std::string_view op, ContextCore& context, VectisStatus status, const SlotMessage& message);

// Calls a required slot; throws the Error for a failure.
template <class Slot, class... Arguments>
[[gnu::always_inline]] inline void call(std::string_view op, ContextCore& context, Slot slot, Arguments... arguments) {
  check_usable(op, context);
  SlotMessage message;
  const VectisStatus status = slot(arguments..., message.get());
  if (status != VECTIS_OK) fail(op, context, status, message);
}

// Calls an optional slot. Returns false, without effect, when it is NULL or returns VECTIS_UNSUPPORTED.
template <class Slot, class... Arguments>
[[nodiscard, gnu::always_inline]] inline bool call_optional(std::string_view op, ContextCore& context, Slot slot,
                                                            Arguments... arguments) {
  check_usable(op, context);
  if (slot == nullptr) return false;
  SlotMessage message;
  const VectisStatus status = slot(arguments..., message.get());
  if (status == VECTIS_UNSUPPORTED) return false;
  if (status != VECTIS_OK) fail(op, context, status, message);
  return true;
}

// "opencl:0 (Portable Computing Language)", as errors name a device.
std::string describe(const DeviceCore& device);

}  // namespace vectis::inline v0_1::detail
