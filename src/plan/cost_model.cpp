#include "plan/cost_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::array precisions{Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8};

double bounded(double seconds) noexcept { return seconds < max_seconds ? seconds : max_seconds; }

double quotient(double amount, double rate) noexcept { return amount > 0 && rate > 0 ? amount / rate : 0; }

// A precision without a measured rate is assumed to run at the fp32 rate.
double arithmetic_seconds(const DeviceProfile& profile, const Workload& workload) noexcept {
  double seconds = 0;
  for (const Precision precision : precisions) {
    const double rate = profile.operations_per_second.at(precision);
    seconds += quotient(workload.operations.at(precision), rate > 0 ? rate : profile.operations_per_second.fp32);
  }
  return seconds / workload.efficiency;
}

double copy_seconds(const CopySpeed& speed, double bytes) noexcept {
  return bytes > 0 ? speed.call_seconds + quotient(bytes, speed.bytes_per_second) : 0;
}

// A sum of finite amounts may be infinite.
double log2_1p(double amount) noexcept { return std::log2(1 + std::min(amount, std::numeric_limits<double>::max())); }

void validate_amount(const Workload& workload, std::string_view field, double amount) {
  if (std::isfinite(amount) && amount >= 0) return;
  throw Error(
      ErrorCode::invalid_input, "plan",
      fmt::format("{} of workload '{}' is {}, but must be finite and at least 0", field, workload.name, amount));
}

}  // namespace

CostBreakdown cost_breakdown(const DeviceProfile& profile, const Workload& workload) noexcept {
  CostBreakdown cost;
  cost.seconds[CostBreakdown::launch] = min_seconds + workload.launches * profile.launch_seconds;
  cost.seconds[CostBreakdown::compile] = workload.kernels_to_compile * profile.compile_seconds;
  cost.seconds[CostBreakdown::copy] =
      copy_seconds(profile.to_device, workload.copy_in_bytes) + copy_seconds(profile.to_host, workload.copy_out_bytes);
  cost.seconds[CostBreakdown::arithmetic] = arithmetic_seconds(profile, workload);
  cost.seconds[CostBreakdown::memory] = quotient(workload.bytes, profile.memory_bytes_per_second);
  cost.seconds[CostBreakdown::host] = workload.host_seconds;
  std::ranges::transform(cost.seconds, cost.seconds.begin(), bounded);
  return cost;
}

Features features_of(const Workload& workload) noexcept {
  const ByPrecision& by = workload.operations;
  return {log2_1p(by.fp32 + by.fp16 + by.bf16 + by.int8), log2_1p(workload.bytes), log2_1p(workload.copy_in_bytes),
          log2_1p(workload.copy_out_bytes)};
}

double distance(const Features& left, const Features& right) noexcept {
  double squares = 0;
  for (std::size_t i = 0; i < left.size(); ++i) squares += (left[i] - right[i]) * (left[i] - right[i]);
  return std::sqrt(squares);
}

void validate_workload(const Workload& workload) {
  for (const Precision precision : precisions) {
    validate_amount(workload, fmt::format("operations in {}", name(precision)), workload.operations.at(precision));
  }
  validate_amount(workload, "bytes", workload.bytes);
  validate_amount(workload, "copy_in_bytes", workload.copy_in_bytes);
  validate_amount(workload, "copy_out_bytes", workload.copy_out_bytes);
  validate_amount(workload, "launches", workload.launches);
  validate_amount(workload, "kernels_to_compile", workload.kernels_to_compile);
  validate_amount(workload, "host_seconds", workload.host_seconds);
  if (std::isfinite(workload.efficiency) && workload.efficiency > 0) return;
  throw Error(ErrorCode::invalid_input, "plan",
              fmt::format("efficiency of workload '{}' is {}, but must be above 0; leave it at 1 when it is unknown",
                          workload.name, workload.efficiency));
}

void validate_profile(const DeviceProfile& profile) {
  const auto validate = [&](std::string_view field, double number) {
    if (std::isfinite(number) && number >= 0) return;
    throw Error(ErrorCode::invalid_input, "plan",
                fmt::format("{} of the profile of '{}' is {}, but must be finite and at least 0 (a rate of 0: unknown)",
                            field, profile.device, number));
  };
  validate("launch_seconds", profile.launch_seconds);
  validate("compile_seconds", profile.compile_seconds);
  validate("to_device.call_seconds", profile.to_device.call_seconds);
  validate("to_device.bytes_per_second", profile.to_device.bytes_per_second);
  validate("to_host.call_seconds", profile.to_host.call_seconds);
  validate("to_host.bytes_per_second", profile.to_host.bytes_per_second);
  validate("memory_bytes_per_second", profile.memory_bytes_per_second);
  for (const Precision precision : precisions) {
    validate(fmt::format("operations_per_second in {}", name(precision)), profile.operations_per_second.at(precision));
  }
}

}  // namespace vectis::inline v0_1::detail
