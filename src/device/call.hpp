// Calls slots of the backend ABI: checks for fork and lost device before, and turns the status into an Error after.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "device/cores.hpp"
#include "vectis/device/backend.h"

namespace vectis::inline v0_1::detail {

// The message buffer of one slot call, 16 KiB: large enough for a compiler's output. Must not be copied or moved,
// since its VectisMessage points into the object. One thread at a time.
class SlotMessage {
 public:
  SlotMessage() { text_[0] = '\0'; }
  // Returns the VectisMessage to pass to the slot, valid as long as this object. Does not throw.
  VectisMessage* get() noexcept { return &message_; }
  // Returns the text that the slot wrote, up to the terminator or, without one, the end of the buffer; empty when the
  // slot wrote nothing.
  [[nodiscard]] std::string text() const;
  // Returns the reason that the slot `open` set; VECTIS_REASON_NONE when it set none. Does not throw.
  [[nodiscard]] VectisReason reason() const noexcept { return message_.reason; }

 private:
  std::array<char, 16384> text_;  // only the first byte is cleared: most calls write nothing
  VectisMessage message_{sizeof(VectisMessage), text_.data(), text_.size(), VECTIS_REASON_NONE};
};

// Returns the ErrorCode of a failed slot's status; ErrorCode::driver_failure for a status without a code of its own.
// `status` must not be VECTIS_OK. Does not throw.
ErrorCode to_error_code(VectisStatus status) noexcept;

// Returns, and does not throw, the Error of a slot that failed with `status` in the call `op` on `where` ("opencl:0
// (name)"). For VECTIS_COMPILE_FAILED the message becomes Error::detail(). `status` must not be VECTIS_OK.
Error slot_error(std::string_view op, const std::string& where, VectisStatus status, const SlotMessage& message);

// Throws Forked when this process was forked after the Runtime was made, DeviceLost when the context is lost; `op`
// names the call in the error. Otherwise does nothing.
void check_usable(std::string_view op, const ContextCore& context);

// Throws the Error of `status`, which must not be VECTIS_OK, with the text of `message`; never returns.
// VECTIS_DEVICE_LOST also marks the context as lost, so that later calls throw DeviceLost.
[[noreturn]] void fail(std::string_view op, ContextCore& context, VectisStatus status, const SlotMessage& message);

// Calls a required slot, which must not be NULL, with `arguments` and a message buffer. Throws Forked in a child
// process, DeviceLost when the context is lost, else the Error of the slot's status when it is not VECTIS_OK.
template <class Slot, class... Arguments>
[[gnu::always_inline]] inline void call(std::string_view op, ContextCore& context, Slot slot, Arguments... arguments) {
  check_usable(op, context);
  SlotMessage message;
  const VectisStatus status = slot(arguments..., message.get());
  if (status != VECTIS_OK) fail(op, context, status, message);
}

// Calls an optional slot with `arguments` and returns true; returns false, without effect, when the slot is NULL or
// returns VECTIS_UNSUPPORTED. Throws Forked in a child process, DeviceLost when the context is lost, else the Error
// of another failed status.
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

// Keeps a failure of enqueued work that `status` reports to a caller which cannot throw it: it becomes the error of the
// work's stream, whose error state is `sticky`, since a backend need not report it again. VECTIS_DEVICE_LOST also marks
// the context as lost. Does nothing for VECTIS_OK and VECTIS_NOT_READY. Does not throw.
void keep_failure(ContextCore& context, StickyError& sticky, VectisStatus status, const SlotMessage& message) noexcept;

// Waits for all work enqueued on `stream`, also when its context is lost, so that host memory which that work may use
// can be freed; a failure of the work becomes the error of the stream. Only the thread that uses the stream may call
// it. Does nothing in a child process. Does not throw.
void drain(const StreamCore& stream) noexcept;

// Returns the label and name of a device as errors print them: "opencl:0 (Portable Computing Language)".
std::string describe(const DeviceCore& device);

}  // namespace vectis::inline v0_1::detail
