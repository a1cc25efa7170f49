// Timestamps of events. The driver reports only the milliseconds between two events, as a float, so times are counted
// from a base event, which is recorded again before the float becomes coarser than the device's clock.
#pragma once

#include <cstdint>
#include <mutex>

#include "vendor.hpp"

namespace vectis::cuda_hip {

// Thread-safe after start(). Every function needs the context to be current.
class EventClock {
 public:
  explicit EventClock(const Api& api) noexcept : api_(api) {}
  // Destroys the events and the stream.
  void close() noexcept;

  // Records the base event. Call before time_of. Throws Failure.
  void start();

  // When `event` passed, in nanoseconds since an arbitrary moment. Throws NOT_READY when it has not passed yet.
  std::uint64_t time_of(EventHandle event);

 private:
  void record(EventHandle event);
  void move_base();

  const Api& api_;
  std::mutex mutex_;
  StreamHandle stream_{};
  EventHandle base_{};
  EventHandle spare_{};
  double base_nanoseconds_ = 1e12;  // far from zero: events recorded before a new base have smaller times
};

}  // namespace vectis::cuda_hip
