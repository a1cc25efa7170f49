#include "status.hpp"

#include <cstring>
#include <new>

namespace vectis::webgpu {

VectisStatus tell(VectisMessage* message, VectisStatus status, const char* text, VectisReason reason) noexcept {
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

VectisStatus tell_current(VectisMessage* message) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return tell(message, failure.status(), failure.what(), failure.reason());
  } catch (const std::bad_alloc&) {
    return tell(message, VECTIS_ALLOCATION, "the host has no memory left for the WebGPU backend's own records",
                VECTIS_REASON_OTHER);
  } catch (const std::exception& other) {
    return tell(message, VECTIS_DRIVER_FAILURE, other.what(), VECTIS_REASON_OTHER);
  } catch (...) {
    return tell(message, VECTIS_DRIVER_FAILURE, "the WebGPU backend failed without a word", VECTIS_REASON_OTHER);
  }
}

}  // namespace vectis::webgpu
