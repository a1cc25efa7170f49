// How a failure travels in our plug-ins: thrown as Failure inside, a status and a message at the boundary.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "vectis/device/backend.h"

namespace vectis::plugin {

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

// Writes `text` into the host's message, cut to fit at a whole UTF-8 character, and returns `status`.
inline VectisStatus tell(VectisMessage* message, VectisStatus status, const char* text, VectisReason reason) noexcept {
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

// Tells the exception being handled. `who` failed: "the OpenCL backend".
inline VectisStatus tell_current(const char* who, VectisMessage* message) noexcept {
  char words[160];  // there may be no memory for a string
  try {
    throw;
  } catch (const Failure& failure) {
    return tell(message, failure.status(), failure.what(), failure.reason());
  } catch (const std::bad_alloc&) {
    std::snprintf(words, sizeof words, "the host has no memory left for %s's own records", who);
    return tell(message, VECTIS_ALLOCATION, words, VECTIS_REASON_OTHER);
  } catch (const std::exception& other) {
    return tell(message, VECTIS_DRIVER_FAILURE, other.what(), VECTIS_REASON_OTHER);
  } catch (...) {
    std::snprintf(words, sizeof words, "%s failed without a word", who);
    return tell(message, VECTIS_DRIVER_FAILURE, words, VECTIS_REASON_OTHER);
  }
}

// Runs the body of a slot; whatever it throws becomes its status and message.
template <class Body>
VectisStatus guarded(const char* who, VectisMessage* message, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return tell_current(who, message);
  }
}

}  // namespace vectis::plugin
