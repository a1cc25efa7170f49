// Timestamps of events. The driver reports only the milliseconds between two events, as a float, so times are counted
// from a base event, which is recorded again before the float becomes coarser than the device's clock.
#pragma once

#include <cstdint>
#include <mutex>

#include "vendor.hpp"

namespace vectis::cuda_hip {

// Converts the driver's events to times of one clock. Thread-safe after start(). Every function needs the device's
// context to be current. close() must be called before destruction.
class EventClock {
 public:
  // Stores `api`, which must outlive this object. Creates nothing; start() does. Does not throw.
  explicit EventClock(const Api& api) noexcept : api_(api) {}

  // Destroys the clock's events and stream; does nothing when there are none. Precondition: the context is current.
  // Failures of the driver are ignored.
  void close() noexcept;

  // Creates the clock's events and stream, records the base event and waits for it. Call once, before time_of(), with
  // the context current. Throws Failure with the status of the driver's code, with nothing left behind, when that
  // fails.
  void start();

  // Returns when `event` completed, in nanoseconds since an arbitrary moment. Preconditions: start() has succeeded,
  // and the event was recorded with timing in the current context. Throws Failure: VECTIS_NOT_READY when it has not
  // completed, otherwise the status of the driver's code.
  std::uint64_t time_of(EventHandle event);

 private:
  // Records `event` on the clock's stream and waits for it. Throws Failure with the status of the driver's code.
  void record(EventHandle event);
  // Replaces the base event by one recorded now, and adds the time between both to base_nanoseconds_. Precondition:
  // mutex_ is held. Throws Failure with the status of the driver's code.
  void move_base();

  const Api& api_;
  std::mutex mutex_;
  StreamHandle stream_{};
  EventHandle base_{};
  EventHandle spare_{};
  double base_nanoseconds_ = 1e12;  // far from zero: events recorded before a new base have smaller times
};

}  // namespace vectis::cuda_hip
