#include "event_clock.hpp"

#include <cmath>
#include <utility>

#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

namespace {

constexpr double nanoseconds_in_millisecond = 1e6;
constexpr float rebase_milliseconds = 4096;  // a float is as coarse as the devices' clocks here: half a microsecond

}  // namespace

void EventClock::close() noexcept {
  if (base_ != nullptr) static_cast<void>(api_.EventDestroy(std::exchange(base_, nullptr)));
  if (spare_ != nullptr) static_cast<void>(api_.EventDestroy(std::exchange(spare_, nullptr)));
  if (stream_ != nullptr) static_cast<void>(api_.StreamDestroy(std::exchange(stream_, nullptr)));
}

void EventClock::start() {
  try {
    VECTIS_CALL(api_, StreamCreate, &stream_, stream_flags);
    VECTIS_CALL(api_, EventCreate, &base_, 0);
    VECTIS_CALL(api_, EventCreate, &spare_, 0);
    record(base_);
  } catch (...) {
    close();
    throw;
  }
}

void EventClock::record(EventHandle event) {
  VECTIS_CALL(api_, EventRecord, event, stream_);
  VECTIS_CALL(api_, EventSynchronize, event);
}

void EventClock::move_base() {
  record(spare_);
  float since_base = 0;
  VECTIS_CALL(api_, EventElapsedTime, &since_base, base_, spare_);
  base_nanoseconds_ += static_cast<double>(since_base) * nanoseconds_in_millisecond;
  std::swap(base_, spare_);
}

std::uint64_t EventClock::time_of(EventHandle event) {
  const std::lock_guard lock(mutex_);
  float since_base = 0;
  const auto measure = [&] {
    const Code code = api_.EventElapsedTime(&since_base, base_, event);
    if (static_cast<int>(code) == code_not_ready) throw Failure(VECTIS_NOT_READY, "the event has not passed yet");
    check(api_, code, symbol_of_EventElapsedTime);
  };
  measure();
  if (since_base > rebase_milliseconds) {
    move_base();
    measure();
  }
  return static_cast<std::uint64_t>(base_nanoseconds_ + static_cast<double>(since_base) * nanoseconds_in_millisecond);
}

}  // namespace vectis::cuda_hip
