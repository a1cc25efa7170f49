// Work-group sizes found by measuring, kept per device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "vectis/base/export.hpp"
#include "vectis/base/runtime.hpp"
#include "vectis/device/device.hpp"
#include "vectis/device/stream.hpp"

namespace vectis::inline v0_1 {

struct TunerStatistics {
  std::uint64_t measured = 0;  // kernels
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t rebuilt = 0;  // entries on disk that were damaged, another's, or no size of the candidates
};

// Says which of several work-group sizes is the fastest for a kernel on a device. It measures only when it was asked
// to: the setting `autotune` is `known` unless set, which uses sizes measured before; `on` measures kernels not yet
// known; `off` uses neither. Results are kept beside compiled kernels (docs/formats/kernel-cache.md). Thread-safe.
class VECTIS_API Tuner {
 public:
  explicit Tuner(Runtime& runtime);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // Runs the kernel once with a group of this size and returns how long that took, in any unit. An Error passes the
  // size over; DeviceLost and Forked end the tuning.
  using Measure = std::function<double(std::uint32_t group)>;

  // `key` names the kernel among all of its device. Each candidate runs once to warm up and three times for the clock;
  // the fastest is taken if it beats `standard` by a twentieth at least, so that noise changes nothing. Throws what
  // measuring `standard` throws. While one thread measures, others get `standard` for the same key.
  [[nodiscard]] std::uint32_t group(const Device& device, std::string_view key, std::uint32_t standard,
                                    std::span<const std::uint32_t> candidates, const Measure& measure);

  [[nodiscard]] TunerStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

VECTIS_API Tuner& tuner(Runtime& runtime = Runtime::get_default());

// Smaller work gets the standard size, and the tuner is not asked: there is nothing to gain that a launch would not
// hide.
inline constexpr std::uint64_t tuned_items_min = std::uint64_t{1} << 20U;

// The group for a kernel of one dimension over `items` work-items: `standard`, or what the tuner says of the powers of
// two from 32 on that the device takes. `enqueue` launches the kernel with a group of the given size on `stream`; it
// may be called several times, so running the kernel twice must be as good as once. Measuring waits for the stream.
// Times are the device's own where it keeps any.
VECTIS_API std::uint32_t tuned_group(Stream& stream, std::string_view key, std::uint64_t items, std::uint32_t standard,
                                     const std::function<void(std::uint32_t group)>& enqueue);

}  // namespace vectis::inline v0_1
