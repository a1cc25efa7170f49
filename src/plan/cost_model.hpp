// The analytical cost model: run time of a workload from a device profile, before history corrects it. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "vectis/plan/profile.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::detail {

// Seconds by component. Arithmetic and memory overlap, so that only the longer one counts (roofline model).
struct CostBreakdown {
  enum Component : std::size_t {
    launch,      // latency of the kernel launches
    compile,     // of kernels in no cache
    copy,        // to and from the device
    arithmetic,  // operations / rate
    memory,      // bytes / bandwidth
    host         // CPU time beside the device
  };
  static constexpr std::size_t count = 6;
  std::array<double, count> seconds{};

  [[nodiscard]] double compute() const noexcept { return std::max(seconds[arithmetic], seconds[memory]); }
  [[nodiscard]] double total() const noexcept {
    return seconds[launch] + seconds[compile] + seconds[copy] + compute() + seconds[host];
  }
};

// Predicts a valid workload (see validate_workload). The total is above zero, so that its logarithm exists. A rate of 0
// in the profile counts as not measured: arithmetic falls back to the fp32 rate, and anything else takes no time.
CostBreakdown cost_breakdown(const DeviceProfile& profile, const Workload& workload) noexcept;

// Feature vector of a workload for the history: log2(1 + x) of operations, bytes, bytes copied in and bytes copied out.
using Features = std::array<double, 4>;
Features features_of(const Workload& workload) noexcept;
// Euclidean distance, in powers of two.
double distance(const Features& left, const Features& right) noexcept;

// Throws InvalidInput, naming the field, unless every amount is finite and at least 0 and the efficiency above 0.
void validate_workload(const Workload& workload);

}  // namespace vectis::inline v0_1::detail
