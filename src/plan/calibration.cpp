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
constexpr double copy_target_seconds = 5e-3;  // long enough to hide the clock's resolution and the cost of the call
constexpr std::uint64_t first_side = 64;
constexpr std::uint64_t last_side = 1024;
// Twice the side is eight times the work: if it takes less than 4 times as long, larger matrices still gain.
constexpr double growth_ratio = 4;
constexpr int steps_without_gain = 2;  // one such step may be noise

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

// Seconds without the fixed overhead, but at least a tenth of them.
double without_overhead(double seconds, double overhead) { return std::max(seconds - overhead, seconds / 10); }

// Latency from a small copy, bandwidth from one long enough to measure; a medium copy estimates how large that is.
CopySpeed speed_of(const std::function<double(std::uint64_t)>& copy, std::uint64_t max_bytes) {
  const std::uint64_t small = std::min(small_copy, max_bytes);
  (void)copy(small);
  CopySpeed speed;
  speed.call_seconds = median_of(short_runs, [&] { return copy(small); });
  const std::uint64_t medium = std::min(medium_copy, max_bytes);
  (void)copy(medium);  // touches the memory for the first time
  const double rate = static_cast<double>(medium) / best_of(long_runs, [&] { return copy(medium); });
  const double target =
      std::clamp(rate * copy_target_seconds, static_cast<double>(medium), static_cast<double>(large_copy));
  const std::uint64_t bytes = std::min(std::bit_ceil(static_cast<std::uint64_t>(target)), max_bytes);
  (void)copy(bytes);
  const double seconds = best_of(long_runs, [&] { return copy(bytes); });
  speed.bytes_per_second = static_cast<double>(bytes) / without_overhead(seconds, speed.call_seconds);
  return speed;
}

struct Rate {
  double operations_per_second = 0;  // 0 when the device cannot multiply in this precision
  double warm_up_seconds = 0;        // how much longer the first run took
  bool converged = true;             // false when time ran out while larger matrices still gained
};

// Doubles the matrices until the rate stops growing or `max_seconds` are over, and returns the best rate. On a busy
// machine small products wait longer than they compute: then time hardly grows with size and the rate does not
// converge.
Rate rate_of(Probe& probe, Precision precision, double launch_seconds, double max_seconds) {
  const auto first = probe.multiply(precision, first_side);
  if (!first) return {};
  const double begin = probe.elapsed();
  const auto measure = [&](std::uint64_t side) {
    const double once = probe.multiply(precision, side).value();
    if (once > max_seconds / 10) return once;
    return std::min(once, best_of(2, [&] { return probe.multiply(precision, side).value(); }));
  };
  Rate rate;
  double before = measure(first_side);
  rate.warm_up_seconds = std::max(0.0, *first - before);
  int without_gain = 0;
  for (std::uint64_t side = 2 * first_side;; side *= 2) {
    const double seconds = measure(side);
    const auto n = static_cast<double>(side);
    rate.operations_per_second =
        std::max(rate.operations_per_second, 2 * n * n * n / without_overhead(seconds, launch_seconds));
    without_gain = seconds >= growth_ratio * before ? without_gain + 1 : 0;
    rate.converged = side >= last_side || without_gain >= steps_without_gain;
    if (rate.converged) return rate;
    const double next = seconds * std::clamp(seconds / before, 1.0, 8.0);
    if (probe.elapsed() - begin + next > max_seconds) return rate;
    before = seconds;
  }
}

}  // namespace

DeviceProfile calibrate_with(Probe& probe, std::string device, double max_seconds) {
  DeviceProfile result;
  result.device = std::move(device);
  result.resolution_seconds = probe.resolution();
  const double first = probe.launch();
  result.launch_seconds = median_of(short_runs, [&] { return probe.launch(); });
  double warm_up = std::max(0.0, first - result.launch_seconds);
  const std::uint64_t max_bytes = probe.max_bytes();
  result.to_device = speed_of([&](std::uint64_t bytes) { return probe.copy_to_device(bytes); }, max_bytes);
  result.to_host = speed_of([&](std::uint64_t bytes) { return probe.copy_to_host(bytes); }, max_bytes);
  const CopySpeed inside = speed_of([&](std::uint64_t bytes) { return probe.copy_on_device(bytes); }, max_bytes);
  result.memory_bytes_per_second = 2 * inside.bytes_per_second;
  std::vector<Precision> precisions;
  for (const Precision precision : {Precision::fp32, Precision::int8, Precision::bf16, Precision::fp16}) {
    if (precision == Precision::fp32 || probe.has(precision)) precisions.push_back(precision);
  }
  result.complete = true;
  for (std::size_t i = 0; i < precisions.size(); ++i) {
    const double left = max_seconds - probe.elapsed();
    // The next warm-up may take as long as the longest so far. fp32 comes first and is always measured.
    if (i > 0 && left < warm_up) {
      result.complete = false;
      break;
    }
    const double share = std::max(left, max_seconds / 4) / static_cast<double>(precisions.size() - i);
    const Rate rate = rate_of(probe, precisions[i], result.launch_seconds, share);
    const double min_rate = rate.converged ? 0 : probe.min_balance() * result.memory_bytes_per_second;
    result.operations_per_second.at(precisions[i]) = std::max(rate.operations_per_second, min_rate);
    warm_up = std::max(warm_up, rate.warm_up_seconds);
    result.complete = result.complete && rate.converged;
  }
  result.compile_seconds = probe.compile_seconds(warm_up);
  result.calibration_seconds = probe.elapsed();
  return result;
}

}  // namespace vectis::inline v0_1::detail
