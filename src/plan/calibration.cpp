#include "plan/calibration.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

namespace vectis::inline v0_1::detail {

namespace {

constexpr int short_runs = 15;
constexpr int long_runs = 3;
constexpr std::uint64_t small_copy = 4096;
constexpr std::uint64_t medium_copy = std::uint64_t{1} << 20U;
constexpr std::uint64_t large_copy = std::uint64_t{1} << 24U;
constexpr double copy_seconds_aim = 5e-3;  // what neither the clock nor the call disturbs
constexpr std::uint64_t first_side = 64;
constexpr std::uint64_t last_side = 1024;
constexpr double worth_growing = 4;     // twice the side is eight times the work: less time than that is a better rate
constexpr int enough_without_gain = 2;  // one step without may be chance

using Measurement = std::function<double()>;

double median_of(int runs, const Measurement& measure) {
  std::vector<double> times(static_cast<std::size_t>(runs));
  std::ranges::generate(times, measure);
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double best_of(int runs, const Measurement& measure) {
  double best = measure();
  for (int run = 1; run < runs; ++run) best = std::min(best, measure());
  return best;
}

// What is left of a run without its beginning; never nothing.
double without(double seconds, double beginning) { return std::max(seconds - beginning, seconds / 10); }

// From a small copy and one that is large enough, its size estimated with a medium one.
CopySpeed speed_of(const std::function<double(std::uint64_t)>& copy, std::uint64_t bytes_max) {
  const std::uint64_t small = std::min(small_copy, bytes_max);
  (void)copy(small);
  CopySpeed speed;
  speed.call_seconds = median_of(short_runs, [&] { return copy(small); });
  const std::uint64_t medium = std::min(medium_copy, bytes_max);
  (void)copy(medium);  // touches the memory for the first time
  const double rate = static_cast<double>(medium) / best_of(long_runs, [&] { return copy(medium); });
  const double aim = std::clamp(rate * copy_seconds_aim, static_cast<double>(medium), static_cast<double>(large_copy));
  const std::uint64_t bytes = std::min(std::bit_ceil(static_cast<std::uint64_t>(aim)), bytes_max);
  (void)copy(bytes);
  const double seconds = best_of(long_runs, [&] { return copy(bytes); });
  speed.bytes_per_second = static_cast<double>(bytes) / without(seconds, speed.call_seconds);
  return speed;
}

struct Rate {
  double operations_per_second = 0;  // zero when the device does none
  double first_seconds = 0;          // what the first run took more than the others
  bool settled = true;               // larger products would gain nothing; false: there was no time to see it
};

// The best rate of products that grow until they gain nothing by it, within the time given. Small products may wait for
// a busy machine much longer than they compute: then time hardly grows with them, and the rate is not settled.
Rate rate_of(Probe& probe, Precision precision, double launch_seconds, double seconds_max) {
  const auto first = probe.multiply(precision, first_side);
  if (!first) return {};
  const double begin = probe.elapsed();
  const auto measure = [&](std::uint64_t side) {
    const double once = probe.multiply(precision, side).value();
    if (once > seconds_max / 10) return once;
    return std::min(once, best_of(2, [&] { return probe.multiply(precision, side).value(); }));
  };
  Rate rate;
  double before = measure(first_side);
  rate.first_seconds = std::max(0.0, *first - before);
  int without_gain = 0;
  for (std::uint64_t side = 2 * first_side;; side *= 2) {
    const double seconds = measure(side);
    const auto n = static_cast<double>(side);
    rate.operations_per_second = std::max(rate.operations_per_second, 2 * n * n * n / without(seconds, launch_seconds));
    without_gain = seconds >= worth_growing * before ? without_gain + 1 : 0;
    rate.settled = side >= last_side || without_gain >= enough_without_gain;
    if (rate.settled) return rate;
    const double next = seconds * std::clamp(seconds / before, 1.0, 8.0);
    if (probe.elapsed() - begin + next > seconds_max) return rate;
    before = seconds;
  }
}

}  // namespace

DeviceProfile calibrate_with(Probe& probe, std::string device, double seconds_max) {
  DeviceProfile result;
  result.device = std::move(device);
  result.resolution_seconds = probe.resolution();
  const double first = probe.launch();
  result.launch_seconds = median_of(short_runs, [&] { return probe.launch(); });
  double first_run = std::max(0.0, first - result.launch_seconds);
  const std::uint64_t bytes_max = probe.bytes_max();
  result.to_device = speed_of([&](std::uint64_t bytes) { return probe.copy_to_device(bytes); }, bytes_max);
  result.to_host = speed_of([&](std::uint64_t bytes) { return probe.copy_to_host(bytes); }, bytes_max);
  const CopySpeed inside = speed_of([&](std::uint64_t bytes) { return probe.copy_on_device(bytes); }, bytes_max);
  result.memory_bytes_per_second = 2 * inside.bytes_per_second;
  std::vector<Precision> precisions;
  for (const Precision precision : {Precision::fp32, Precision::int8, Precision::bf16, Precision::fp16}) {
    if (precision == Precision::fp32 || probe.has(precision)) precisions.push_back(precision);
  }
  result.complete = true;
  for (std::size_t i = 0; i < precisions.size(); ++i) {
    const double left = seconds_max - probe.elapsed();
    // Another first run may take as long as the longest so far. fp32 stands for all: it is measured in any
    // case.
    if (i > 0 && left < first_run) {
      result.complete = false;
      break;
    }
    const double share = std::max(left, seconds_max / 4) / static_cast<double>(precisions.size() - i);
    const Rate rate = rate_of(probe, precisions[i], result.launch_seconds, share);
    const double least = rate.settled ? 0 : probe.least_balance() * result.memory_bytes_per_second;
    result.operations_per_second.at(precisions[i]) = std::max(rate.operations_per_second, least);
    first_run = std::max(first_run, rate.first_seconds);
    result.complete = result.complete && rate.settled;
  }
  result.compile_seconds = probe.compile_seconds(first_run);
  result.calibration_seconds = probe.elapsed();
  return result;
}

}  // namespace vectis::inline v0_1::detail
