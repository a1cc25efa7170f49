// A simulated device, defined by a cost model. The planner sees only its measurements: it is calibrated like a real
// device and reports how long work took.
//
//   SimulatedDevice gpu(SimulatedDevice::a_gpu(), seed);
//   const Placement candidate(gpu.profile(), work);
//   planner.record(candidate, gpu.measure(work));
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/calibration.hpp"
#include "vectis/base/random.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::test {

// The cost model, with effects that the planner's formula lacks: caches, saturation, imperfect overlap of arithmetic
// and memory, slower large copies, and noise.
struct CostLaw {
  std::string name;
  double launch_seconds = 1e-5;
  double compile_seconds = 0.2;
  CopySpeed to_device{1e-5, 1e10};
  CopySpeed to_host{1e-5, 1e10};
  double pinned_bytes = 1e12;      // larger copies run at half the speed
  double bytes_per_second = 1e11;  // of memory
  double cache_bytes = 1e6;        // work on fewer bytes runs `cache_gain` times as fast as memory
  double cache_gain = 3;
  ByPrecision operations_per_second{1e12, 2e12, 2e12, 4e12};
  double half_rate_operations = 1e6;  // operations at which work reaches half of the rate
  double search_efficiency = 0.5;     // fraction of the rate that work other than a matrix product reaches
  double overlap = 3;   // exponent p of the p-norm of arithmetic and memory time: 1 is their sum, infinity the maximum
  double noise = 0.03;  // standard deviation of the logarithm
  double hiccups = 0.01;  // fraction of measurements that take three times as long
};

// One thread at a time.
class SimulatedDevice final : public detail::Probe {
 public:
  SimulatedDevice(CostLaw law, std::uint64_t seed)
      : law_(std::move(law)), random_(seed), profile_(detail::calibrate_with(*this, law_.name, budget)) {}

  [[nodiscard]] const DeviceProfile& profile() const noexcept { return profile_; }
  [[nodiscard]] const CostLaw& law() const noexcept { return law_; }

  // The cost without noise.
  [[nodiscard]] double exact_seconds(const Workload& workload) const {
    return workload.launches * law_.launch_seconds + workload.kernels_to_compile * law_.compile_seconds +
           copy(law_.to_device, workload.copy_in_bytes) + copy(law_.to_host, workload.copy_out_bytes) +
           compute(workload.operations, workload.bytes, law_.search_efficiency * workload.efficiency) +
           workload.host_seconds;
  }
  double measure(const Workload& workload) { return noisy(exact_seconds(workload)); }

  double launch() override {
    const double fresh = elapsed_ > 0 ? 0 : law_.compile_seconds;
    return noisy(law_.launch_seconds + fresh);
  }
  double copy_to_device(std::uint64_t bytes) override { return noisy(copy(law_.to_device, real(bytes))); }
  double copy_to_host(std::uint64_t bytes) override { return noisy(copy(law_.to_host, real(bytes))); }
  double copy_on_device(std::uint64_t bytes) override {
    return noisy(law_.launch_seconds + compute({}, 2 * real(bytes), 1));
  }
  [[nodiscard]] bool has(Precision) const override { return true; }
  std::optional<double> multiply(Precision precision, std::uint64_t side) override {
    ByPrecision operations;
    operations.at(precision) = 2 * std::pow(real(side), 3);
    return noisy(law_.launch_seconds + compute(operations, 3 * 4 * real(side) * real(side), 1));
  }
  [[nodiscard]] double min_balance() const override { return 0; }
  [[nodiscard]] double compile_seconds(double warm_up_seconds) const override { return warm_up_seconds; }
  [[nodiscard]] std::uint64_t max_bytes() const override { return std::uint64_t{1} << 30U; }
  [[nodiscard]] double resolution() const override { return 1e-8; }
  [[nodiscard]] double elapsed() const override { return elapsed_; }

 private:
  static constexpr double budget = 0.45;

  static double real(std::uint64_t number) { return static_cast<double>(number); }

  [[nodiscard]] double copy(const CopySpeed& speed, double bytes) const {
    if (bytes <= 0) return 0;
    const double beyond = std::max(0.0, bytes - law_.pinned_bytes);
    return speed.call_seconds + (bytes + beyond) / speed.bytes_per_second;
  }

  [[nodiscard]] double compute(const ByPrecision& operations, double bytes, double efficiency) const {
    double total = 0;
    double arithmetic = 0;
    for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
      total += operations.at(precision);
      arithmetic += operations.at(precision) / law_.operations_per_second.at(precision);
    }
    if (total > 0) arithmetic *= (1 + law_.half_rate_operations / total) / efficiency;
    const double cached = std::min(bytes, law_.cache_bytes);
    const double memory = (bytes - cached + cached / law_.cache_gain) / law_.bytes_per_second;
    return std::pow(std::pow(arithmetic, law_.overlap) + std::pow(memory, law_.overlap), 1 / law_.overlap);
  }

  double noisy(double seconds) {
    // The sum of twelve uniform values approximates a normal distribution, equally on every platform.
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += random_.unit();
    seconds *= std::exp(law_.noise * normal) * (random_.unit() < law_.hiccups ? 3 : 1);
    elapsed_ += seconds;
    return seconds;
  }

  CostLaw law_;
  Random random_;
  double elapsed_ = 0;
  DeviceProfile profile_;
};

}  // namespace vectis::test
