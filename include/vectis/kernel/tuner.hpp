// Autotuning of work-group sizes, with results cached per device.
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
  std::uint64_t measured = 0;  // kernels measured
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t rebuilt = 0;  // disk entries that were corrupt, of another key, or not a candidate
};

// Finds the fastest work-group size of a kernel on a device. The setting `autotune` selects what it does: `known`
// (default) uses sizes measured earlier, `on` also measures kernels not measured yet, `off` always returns the default.
// Results are cached on disk next to compiled kernels (docs/formats/kernel-cache.md). Thread-safe.
class VECTIS_API Tuner {
 public:
  explicit Tuner(Runtime& runtime);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // Runs the kernel once with this group size and returns the time in any unit. An Error excludes the size; DeviceLost
  // and Forked abort the tuning.
  using Measure = std::function<double(std::uint32_t group)>;

  // Returns the cached size for `key`, which identifies the kernel on the device, or measures: each candidate runs once
  // to warm up and three times timed; the fastest replaces `default_size` if it is at least 5 % faster, so that noise
  // changes nothing. Throws what measuring `default_size` throws. While one thread measures a key, others get
  // `default_size`.
  [[nodiscard]] std::uint32_t group(const Device& device, std::string_view key, std::uint32_t default_size,
                                    std::span<const std::uint32_t> candidates, const Measure& measure);

  [[nodiscard]] TunerStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The runtime's tuner.
VECTIS_API Tuner& tuner(Runtime& runtime = Runtime::get_default());

// Work-items from which kernels are tuned. Below, launch overhead hides any gain.
inline constexpr std::uint64_t tuned_items_min = std::uint64_t{1} << 20U;

// The work-group size for a one-dimensional kernel over `items` work-items: `default_size`, or the tuner's choice among
// the powers of two from 32 that the device supports. `enqueue` launches the kernel with the given size on `stream`. It
// may be called several times, so the kernel must be idempotent. Measuring synchronizes the stream, and uses the
// device's timestamps if it has them. Throws what `enqueue` throws for `default_size`.
VECTIS_API std::uint32_t tuned_group(Stream& stream, std::string_view key, std::uint64_t items,
                                     std::uint32_t default_size,
                                     const std::function<void(std::uint32_t group)>& enqueue);

}  // namespace vectis::inline v0_1
