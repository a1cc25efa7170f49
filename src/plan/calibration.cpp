#include "plan/calibration.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

namespace vectis::inline v0_1::detail {

namespace {

constexpr int launch_runs = 15;
constexpr int large_runs = 3;
constexpr std::uint64_t small_copy = 4096;
constexpr std::uint64_t first_copy = std::uint64_t{1} << 20U;
constexpr std::uint64_t last_copy = std::uint64_t{1} << 26U;
constexpr std::uint64_t growth = 4;
constexpr double long_enough = 4e-3;  // a run that the clock and the launch no longer disturb, seconds
constexpr std::uint64_t first_side = 128;
constexpr std::uint64_t last_side = 1024;
constexpr double longest_run = 3e-2;  // a larger product is not begun when it would take longer than this

using Measurement = std::function<double()>;

double median_of(int runs, const Measurement& measure) {
  std::vector<double> times;
  for (int run = 0; run < runs; ++run) times.push_back(measure());
  std::ranges::sort(times);
  return times[times.size() / 2];
}

double best_of(int runs, const Measurement& measure) {
  double best = measure();
  for (int run = 1; run < runs; ++run) best = std::min(best, measure());
  return best;
}

// What a small and a large run say about any other. The larger of the two is found by growing.
CopySpeed speed_of(const std::function<double(std::uint64_t)>& copy, std::uint64_t bytes_max) {
  const std::uint64_t small = std::min(small_copy, bytes_max);
  (void)copy(small);
  CopySpeed speed;
  speed.call_seconds = median_of(launch_runs, [&] { return copy(small); });
  std::uint64_t bytes = std::min(first_copy, bytes_max);
  (void)copy(bytes);  // touches the memory for the first time
  double seconds = best_of(large_runs, [&] { return copy(bytes); });
  while (seconds < long_enough && bytes * growth <= std::min(last_copy, bytes_max)) {
    bytes *= growth;
    (void)copy(bytes);
    seconds = best_of(large_runs, [&] { return copy(bytes); });
  }
  const double beyond = std::max(seconds - speed.call_seconds, seconds / 10);
  speed.bytes_per_second = static_cast<double>(bytes) / beyond;
  return speed;
}

// Operations per second; zero when the device does none.
double rate_of(Probe& probe, Precision precision, double launch_seconds, double& first_seconds) {
  const auto operations = [](std::uint64_t side) {
    const auto n = static_cast<double>(side);
    return 2 * n * n * n;
  };
  const auto first = probe.multiply(precision, first_side);
  if (!first) return 0;
  const auto measure = [&](std::uint64_t side) {
    return best_of(large_runs, [&] { return probe.multiply(precision, side).value(); });
  };
  std::uint64_t side = first_side;
  double seconds = measure(side);
  first_seconds = std::max(first_seconds, *first - seconds);
  while (seconds < long_enough && side < last_side && seconds * 8 < longest_run) {
    side *= 2;
    seconds = measure(side);
  }
  return operations(side) / std::max(seconds - launch_seconds, seconds / 10);
}

}  // namespace

DeviceProfile calibrate_with(Probe& probe, std::string device, double seconds_max) {
  DeviceProfile result;
  result.device = std::move(device);
  result.resolution_seconds = probe.resolution();
  const double first = probe.launch();
  result.launch_seconds = median_of(launch_runs, [&] { return probe.launch(); });
  result.compile_seconds = std::max(0.0, first - result.launch_seconds);
  const std::uint64_t bytes_max = probe.bytes_max();
  result.to_device = speed_of([&](std::uint64_t bytes) { return probe.copy_to_device(bytes); }, bytes_max);
  result.to_host = speed_of([&](std::uint64_t bytes) { return probe.copy_to_host(bytes); }, bytes_max);
  const CopySpeed inside = speed_of([&](std::uint64_t bytes) { return probe.copy_on_device(bytes); }, bytes_max);
  result.memory_bytes_per_second = 2 * inside.bytes_per_second;
  result.complete = true;
  for (const Precision precision : {Precision::fp32, Precision::int8, Precision::bf16, Precision::fp16}) {
    // The next kernel may take as long to compile as the slowest so far. fp32 stands for all others: it is always done.
    if (precision != Precision::fp32 && probe.elapsed() + result.compile_seconds > seconds_max) {
      result.complete = false;
      break;
    }
    result.operations_per_second.at(precision) =
        rate_of(probe, precision, result.launch_seconds, result.compile_seconds);
  }
  result.calibration_seconds = probe.elapsed();
  return result;
}

}  // namespace vectis::inline v0_1::detail
