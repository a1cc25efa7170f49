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

// Counts of the requests to a Tuner since its construction.
struct TunerStatistics {
  std::uint64_t measured = 0;  // kernels measured
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t rebuilt = 0;  // disk entries that were corrupt, of another key, or not a candidate
};

// Finds the fastest work-group size of a kernel on a device. The setting `autotune` selects what it does: `known`
// (default) uses sizes measured earlier, `on` also measures kernels not measured yet, `off` always returns the
// default. Results are cached on disk next to compiled kernels (docs/formats/kernel-cache.md). Thread-safe.
class VECTIS_API Tuner {
 public:
  // Reads the setting `autotune` of the runtime, which must outlive the tuner. Throws InvalidInput if the setting is
  // not `off`, `known` or `on`.
  explicit Tuner(Runtime& runtime);
  ~Tuner();
  Tuner(const Tuner&) = delete;
  Tuner& operator=(const Tuner&) = delete;

  // Runs the kernel once with this work-group size and returns the time in any unit. If it throws an Error for a
  // candidate, that size is excluded; DeviceLost and Forked end the tuning and are thrown by Tuner::group().
  using Measure = std::function<double(std::uint32_t group)>;

  // Returns the work-group size cached for `key`, which must identify the kernel on the device. If none is cached
  // and the setting `autotune` is `on`, measures: each candidate runs once to warm up and three times timed, and the
  // fastest is used if it is at least 5 % faster than `default_size`. Otherwise, and while another thread measures
  // the key, returns `default_size`. Throws what `measure` throws for `default_size`, and DeviceLost or Forked.
  [[nodiscard]] std::uint32_t group(const Device& device, std::string_view key, std::uint32_t default_size,
                                    std::span<const std::uint32_t> candidates, const Measure& measure);

  // Returns the counts of measurements and cache hits since construction.
  [[nodiscard]] TunerStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the tuner that the runtime owns, created at the first call. Throws InvalidInput if the setting `autotune`
// is not `off`, `known` or `on`.
VECTIS_API Tuner& tuner(Runtime& runtime = Runtime::get_default());

// Minimum number of work-items of a launch for tuned_group() to tune its kernel. In smaller launches the launch
// overhead hides any gain.
inline constexpr std::uint64_t tuned_items_min = std::uint64_t{1} << 20U;

// Returns the work-group size for a one-dimensional kernel over `items` work-items: `default_size` below
// tuned_items_min, else the choice of Tuner::group() among powers of two from 32. `enqueue` launches the kernel with
// a size on `stream` and may be called several times, so the kernel must be idempotent. Measuring waits for the
// stream. Throws what `enqueue` throws for `default_size`, and DeviceLost or Forked.
VECTIS_API std::uint32_t tuned_group(Stream& stream, std::string_view key, std::uint64_t items,
                                     std::uint32_t default_size,
                                     const std::function<void(std::uint32_t group)>& enqueue);

}  // namespace vectis::inline v0_1
