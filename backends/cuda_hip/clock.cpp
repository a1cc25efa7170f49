#include "clock.hpp"

#include <cmath>
#include <utility>

#include "status.hpp"
#include "vectis/device/backend.h"

namespace vectis::cuda_hip {

namespace {

constexpr double nanoseconds_in_millisecond = 1e6;
constexpr float far_milliseconds = 4096;  // a float has steps of half a microsecond here, as the devices' clocks have

}  // namespace

void Clock::close() noexcept {
  if (base_ != nullptr) static_cast<void>(api_.EventDestroy(std::exchange(base_, nullptr)));
  if (spare_ != nullptr) static_cast<void>(api_.EventDestroy(std::exchange(spare_, nullptr)));
  if (stream_ != nullptr) static_cast<void>(api_.StreamDestroy(std::exchange(stream_, nullptr)));
}

void Clock::start() {
  try {
    VECTIS_CALL(api_, StreamCreate, &stream_, stream_beside_others);
    VECTIS_CALL(api_, EventCreate, &base_, 0);
    VECTIS_CALL(api_, EventCreate, &spare_, 0);
    record(base_);
  } catch (...) {
    close();
    throw;
  }
}

void Clock::record(EventHandle event) {
  VECTIS_CALL(api_, EventRecord, event, stream_);
  VECTIS_CALL(api_, EventSynchronize, event);
}

void Clock::move_base() {
  record(spare_);
  float since_base = 0;
  VECTIS_CALL(api_, EventElapsedTime, &since_base, base_, spare_);
  base_nanoseconds_ += static_cast<double>(since_base) * nanoseconds_in_millisecond;
  std::swap(base_, spare_);
}

std::uint64_t Clock::time_of(EventHandle event) {
  const std::lock_guard lock(mutex_);
  float since_base = 0;
  const auto ask = [&] {
    const Code code = api_.EventElapsedTime(&since_base, base_, event);
    if (static_cast<int>(code) == code_not_ready) throw Failure(VECTIS_NOT_READY, "the event is not passed yet");
    check(api_, code, symbol_of_EventElapsedTime);
  };
  ask();
  if (since_base > far_milliseconds) {
    move_base();
    ask();
  }
  return static_cast<std::uint64_t>(base_nanoseconds_ + static_cast<double>(since_base) * nanoseconds_in_millisecond);
}

}  // namespace vectis::cuda_hip
