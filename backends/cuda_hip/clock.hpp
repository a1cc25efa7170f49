// The device's time. The driver tells only the milliseconds between two events, as a float, so times are counted from a
// base event, which is set anew before a float would become coarser than the device's clock. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "own.hpp"

namespace vectis::cuda_hip {

class Clock {
 public:
  explicit Clock(const Api& api) noexcept : api_(api) {}
  // Releases its events and its stream; the context is current.
  void close() noexcept;

  // Records the base; the context is current. Until then no event has a time.
  void start();

  // When `event` was passed, in nanoseconds from an arbitrary moment. The context is current. Throws NOT_READY when it
  // is not passed yet.
  std::uint64_t time_of(EventHandle event);

 private:
  void record(EventHandle event);
  void move_base();

  const Api& api_;
  std::mutex mutex_;
  StreamHandle stream_{};
  EventHandle base_{};
  EventHandle spare_{};
  double base_nanoseconds_ = 1e12;  // far from zero: events from before a new base have smaller times
};

}  // namespace vectis::cuda_hip
