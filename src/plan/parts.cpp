#include "plan/parts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::array all_precisions{Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8};

constexpr double least_seconds = 1e-9;  // nothing takes no time, and logarithms need it

double over(double amount, double rate) noexcept { return amount > 0 && rate > 0 ? amount / rate : 0; }

// A kind of arithmetic that was not measured runs as if in fp32.
double arithmetic_seconds(const DeviceProfile& profile, const Workload& work) noexcept {
  double seconds = 0;
  for (const Precision precision : all_precisions) {
    const double rate = profile.operations_per_second.at(precision);
    seconds += over(work.operations.at(precision), rate > 0 ? rate : profile.operations_per_second.fp32);
  }
  return seconds / work.efficiency;
}

double copy_seconds(const CopySpeed& speed, double bytes) noexcept {
  return bytes > 0 ? speed.call_seconds + over(bytes, speed.bytes_per_second) : 0;
}

double octaves(double amount) noexcept { return std::log2(1 + amount); }

void check_amount(const Workload& work, std::string_view what, double amount) {
  if (std::isfinite(amount) && amount >= 0) return;
  throw Error(ErrorCode::invalid_input, "plan",
              fmt::format("{} of work '{}' is {}, but must be a number from 0 on", what, work.name, amount));
}

}  // namespace

Parts parts_of(const DeviceProfile& profile, const Workload& work) noexcept {
  Parts parts;
  parts.seconds[Parts::launch] = least_seconds + work.launches * profile.launch_seconds;
  parts.seconds[Parts::compile] = work.kernels_to_compile * profile.compile_seconds;
  parts.seconds[Parts::copy] =
      copy_seconds(profile.to_device, work.copy_in_bytes) + copy_seconds(profile.to_host, work.copy_out_bytes);
  parts.seconds[Parts::arithmetic] = arithmetic_seconds(profile, work);
  parts.seconds[Parts::memory] = over(work.bytes, profile.memory_bytes_per_second);
  parts.seconds[Parts::host] = work.host_seconds;
  return parts;
}

Place place_of(const Workload& work) noexcept {
  const ByPrecision& by = work.operations;
  return {octaves(by.fp32 + by.fp16 + by.bf16 + by.int8), octaves(work.bytes), octaves(work.copy_in_bytes),
          octaves(work.copy_out_bytes)};
}

double distance(const Place& left, const Place& right) noexcept {
  double squares = 0;
  for (std::size_t i = 0; i < left.size(); ++i) squares += (left[i] - right[i]) * (left[i] - right[i]);
  return std::sqrt(squares);
}

void check_work(const Workload& work) {
  for (const Precision precision : all_precisions) {
    check_amount(work, fmt::format("operations in {}", name(precision)), work.operations.at(precision));
  }
  check_amount(work, "bytes", work.bytes);
  check_amount(work, "copy_in_bytes", work.copy_in_bytes);
  check_amount(work, "copy_out_bytes", work.copy_out_bytes);
  check_amount(work, "launches", work.launches);
  check_amount(work, "kernels_to_compile", work.kernels_to_compile);
  check_amount(work, "host_seconds", work.host_seconds);
  if (std::isfinite(work.efficiency) && work.efficiency > 0) return;
  throw Error(ErrorCode::invalid_input, "plan",
              fmt::format("efficiency of work '{}' is {}, but must be over 0; leave it 1 when it is not known",
                          work.name, work.efficiency));
}

}  // namespace vectis::inline v0_1::detail
