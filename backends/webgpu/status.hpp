// How a failure travels: thrown as Failure inside the plug-in, a status and a message at its boundary.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "vectis/device/backend.h"

namespace vectis::webgpu {

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
VectisStatus tell(VectisMessage* message, VectisStatus status, const char* text, VectisReason reason) noexcept;
// Tells the exception being handled.
VectisStatus tell_current(VectisMessage* message) noexcept;

// Runs the body of a slot; whatever it throws becomes its status and message.
template <class Body>
VectisStatus guarded(VectisMessage* message, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return tell_current(message);
  }
}

}  // namespace vectis::webgpu
