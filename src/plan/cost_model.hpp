// The analytical cost model: run time of a workload from a device profile, before history corrects it. Pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "vectis/plan/profile.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::detail {

// Limits of predicted and recorded times. Within them the logarithms and ratios of the history stay finite; one
// infinite record would make all its predictions NaN.
constexpr double min_seconds = 1e-9;
constexpr double max_seconds = 1e15;  // 30 million years

// Predicted seconds of a workload by component. Arithmetic and memory traffic overlap, so that only the longer one
// counts (roofline model).
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

  // Returns the longer of arithmetic and memory time, in seconds.
  [[nodiscard]] double compute() const noexcept { return std::max(seconds[arithmetic], seconds[memory]); }
  // Returns the predicted run time in seconds: launch, compile, copy, compute() and host together.
  [[nodiscard]] double total() const noexcept {
    return seconds[launch] + seconds[compile] + seconds[copy] + compute() + seconds[host];
  }
};

// Predicts the seconds of a workload, which must pass validate_workload, on a device whose profile passes
// validate_profile. The total is at least
// min_seconds, and each component at most max_seconds. A rate of 0 in the profile was not measured: arithmetic then
// takes the fp32 rate, and other components count as 0 seconds. Does not throw.
CostBreakdown cost_breakdown(const DeviceProfile& profile, const Workload& workload) noexcept;

// Feature vector of a workload, by which the history compares sizes: log2(1 + x) of operations, bytes, bytes copied
// in and bytes copied out.
using Features = std::array<double, 4>;
// Returns the feature vector of a workload, which must pass validate_workload. Does not throw.
Features features_of(const Workload& workload) noexcept;
// Returns the Euclidean distance of two feature vectors; 1 is a factor of two in one amount. Does not throw.
double distance(const Features& left, const Features& right) noexcept;

// Throws InvalidInput, naming the field, unless every amount of the workload is finite and at least 0 and its
// efficiency is finite and above 0.
void validate_workload(const Workload& workload);
// Throws InvalidInput, naming the field, unless every time and rate of the profile is finite and at least 0.
void validate_profile(const DeviceProfile& profile);

}  // namespace vectis::inline v0_1::detail
