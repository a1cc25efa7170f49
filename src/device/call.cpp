#include "device/call.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vectis::inline v0_1::detail {

std::string SlotMessage::text() const { return {text_.begin(), std::find(text_.begin(), text_.end(), '\0')}; }

ErrorCode to_error_code(VectisStatus status) noexcept {
  switch (status) {
    case VECTIS_INVALID_INPUT:
      return ErrorCode::invalid_input;
    case VECTIS_ALLOCATION:
      return ErrorCode::allocation;
    case VECTIS_BACKEND_CREATION:
      return ErrorCode::backend_creation;
    case VECTIS_UNSUPPORTED:
      return ErrorCode::unsupported;
    case VECTIS_DEVICE_LOST:
      return ErrorCode::device_lost;
    case VECTIS_COMPILE_FAILED:
      return ErrorCode::compile_failed;
    default:
      return ErrorCode::driver_failure;
  }
}

Error slot_error(std::string_view op, const std::string& where, VectisStatus status, const SlotMessage& message) {
  const std::string text = message.text();
  if (status == VECTIS_COMPILE_FAILED) {
    const std::string first_line = text.substr(0, text.find('\n'));
    return {ErrorCode::compile_failed, op, fmt::format("{} did not compile the program: {}", where, first_line), text};
  }
  if (text.empty()) return {to_error_code(status), op, fmt::format("{} failed with status {}", where, status)};
  return {to_error_code(status), op, fmt::format("{}: {}", where, text)};
}

void check_usable(std::string_view op, const ContextCore& context) {
  context.device->backend->runtime.check_fork(op);
  if (context.lost.load(std::memory_order_acquire)) {
    throw Error(
        ErrorCode::device_lost, op,
        fmt::format("{} was lost earlier; create a new context or choose another device", describe(*context.device)));
  }
}

void fail(std::string_view op, ContextCore& context, VectisStatus status, const SlotMessage& message) {
  if (status == VECTIS_DEVICE_LOST) context.lost.store(true, std::memory_order_release);
  throw slot_error(op, describe(*context.device), status, message);
}

void keep_failure(ContextCore& context, StickyError& sticky, VectisStatus status, const SlotMessage& message) noexcept {
  if (status == VECTIS_OK || status == VECTIS_NOT_READY) return;
  if (status == VECTIS_DEVICE_LOST) context.lost.store(true, std::memory_order_release);
  try {
    sticky.set(slot_error("synchronize", describe(*context.device), status, message));
  } catch (...) {  // NOLINT(bugprone-empty-catch): the host has no memory for the error
  }
}

void drain(const StreamCore& stream) noexcept {
  ContextCore& context = *stream.context;
  if (context.forked()) return;
  SlotMessage message;
  const VectisStatus status = context.slots().stream_synchronize(stream.handle, message.get());
  keep_failure(context, *stream.sticky, status, message);
}

std::string describe(const DeviceCore& device) { return fmt::format("{} ({})", device.label(), device.info.name); }

}  // namespace vectis::inline v0_1::detail
