#include "kernel/profiler/device_clock.hpp"

#include <algorithm>
#include <cmath>

#include "vectis/base/error.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr int tries = 5;
constexpr double rate_doubt_max = 1e-3;          // crystals differ by some 1e-4 at most
constexpr std::uint64_t apart_min = 10'000'000;  // nanoseconds: below, the doubt of a point outweighs the drift

std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }

}  // namespace

std::optional<ClockPoint> match_clocks(const DeviceContext& context, const HostClock& now) noexcept {
  std::optional<ClockPoint> best;
  try {
    Stream stream(context);
    const Event event(context);
    for (int i = 0; i < tries; ++i) {
      const std::uint64_t before = now();
      stream.record(event);
      event.synchronize();
      const std::uint64_t after = now();
      const auto device = event.timestamp();
      if (!device) return std::nullopt;
      const ClockPoint point{static_cast<std::uint64_t>(device->count()), before + (after - before) / 2,
                             (after - before + 1) / 2};
      if (!best || point.doubt < best->doubt) best = point;
    }
  } catch (const std::exception&) {  // a device that fails here fails the user's own calls as well, and says so there
    return std::nullopt;
  }
  return best;
}

void DeviceClock::add(const ClockPoint& point) {
  if (!first_) {
    first_ = point;
    return;
  }
  if (point.device < first_->device || point.device - first_->device < apart_min) return;
  const double rate =
      static_cast<double>(point.host - first_->host) / static_cast<double>(point.device - first_->device);
  if (std::abs(rate - 1.0) <= rate_doubt_max) rate_ = rate;
}

std::uint64_t DeviceClock::to_host(std::uint64_t device) const noexcept {
  const auto away =
      static_cast<std::uint64_t>(std::llround(static_cast<double>(difference(device, first_->device)) * rate_));
  if (device >= first_->device) return first_->host + away;
  return first_->host - std::min(away, first_->host);
}

}  // namespace vectis::inline v0_1::detail
