// How a failure travels in our plug-ins: thrown as Failure inside, returned as a status with a message at the boundary.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "vectis/device/backend.h"

namespace vectis::plugin {

// The status a slot returns, the sentence it writes, and, when thrown by `open`, the reason the doctor reads.
class Failure : public std::exception {
 public:
  Failure(VectisStatus status, std::string text, VectisReason reason = VECTIS_REASON_NONE)
      : status_(status), reason_(reason), text_(std::move(text)) {}

  [[nodiscard]] VectisStatus status() const noexcept { return status_; }
  [[nodiscard]] VectisReason reason() const noexcept { return reason_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  VectisStatus status_;
  VectisReason reason_;
  std::string text_;
};

// Writes `text` and `reason` into the host's message and returns `status`. A text that does not fit is truncated after
// a whole UTF-8 character.
inline VectisStatus write_message(VectisMessage* message, VectisStatus status, const char* text,
                                  VectisReason reason) noexcept {
  message->reason = reason;
  if (message->capacity == 0) return status;
  std::size_t length = std::strlen(text);
  if (length >= message->capacity) {
    length = message->capacity - 1;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) --length;
  }
  std::memcpy(message->text, text, length);
  message->text[length] = '\0';
  return status;
}

// Call inside a catch block: writes the current exception's message and returns its status. `title` is the backend's
// name in a sentence, "the OpenCL backend". std::bad_alloc becomes VECTIS_ALLOCATION, any exception but Failure
// VECTIS_DRIVER_FAILURE.
inline VectisStatus report_current_exception(const char* title, VectisMessage* message) noexcept {
  char text[160];  // no std::string: the heap may be exhausted
  try {
    throw;
  } catch (const Failure& failure) {
    return write_message(message, failure.status(), failure.what(), failure.reason());
  } catch (const std::bad_alloc&) {
    std::snprintf(text, sizeof text, "the host is out of memory for the bookkeeping of %s", title);
    return write_message(message, VECTIS_ALLOCATION, text, VECTIS_REASON_OTHER);
  } catch (const std::exception& other) {
    return write_message(message, VECTIS_DRIVER_FAILURE, other.what(), VECTIS_REASON_OTHER);
  } catch (...) {
    std::snprintf(text, sizeof text, "%s threw an exception of unknown type", title);
    return write_message(message, VECTIS_DRIVER_FAILURE, text, VECTIS_REASON_OTHER);
  }
}

}  // namespace vectis::plugin
