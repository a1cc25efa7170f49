// A device's clock, matched to the host's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "vectis/device/context.hpp"

namespace vectis::inline v0_1::detail {

using HostClock = std::function<std::uint64_t()>;

// A moment as both clocks tell it; the host's is right within `doubt`.
struct ClockPoint {
  std::uint64_t device = 0;
  std::uint64_t host = 0;
  std::uint64_t doubt = 0;
};

// Records an event on a stream of its own and looks at the host's clock before and after, several times; the narrowest
// counts. Empty when the device keeps no time or fails.
std::optional<ClockPoint> match_clocks(const DeviceContext& context, const HostClock& now) noexcept;

// Two points, far enough apart, give the difference of rate as well. A rate that is no clock's is not believed. One
// thread at a time.
class DeviceClock {
 public:
  void add(const ClockPoint& point);
  [[nodiscard]] bool matched() const noexcept { return first_.has_value(); }
  // Once it is matched.
  [[nodiscard]] std::uint64_t to_host(std::uint64_t device) const noexcept;

 private:
  std::optional<ClockPoint> first_;
  double rate_ = 1.0;  // nanoseconds of the host in one of the device
};

}  // namespace vectis::inline v0_1::detail
