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

// The exception by which a plug-in's function fails: the status that the slot returns, the sentence that it writes
// into the message, and, when `open` throws it, the reason that the doctor reports.
class Failure : public std::exception {
 public:
  // Creates a failure with the message `text`. `status` must not be VECTIS_OK; this is not checked. `reason` matters
  // only when `open` throws the failure.
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

// Writes `text` and `reason` into the host's message and returns `status`. A text that does not fit is truncated
// after a whole UTF-8 character; with capacity 0 only the reason is written. Does not throw. Precondition: `message`
// and `text` are not null.
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

// Writes the current exception's text into `message` and returns its status: that of a Failure, VECTIS_ALLOCATION for
// std::bad_alloc, VECTIS_DRIVER_FAILURE for any other exception. Precondition: the call is made inside a catch block;
// otherwise the process terminates. `title` names the backend in a sentence: "the OpenCL backend".
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
