// How far choices are from the best ones, on devices whose cost laws the planner sees only through measurements.
#include "tests/support/regret.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "tests/support/fake_runtime.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/simulated_device.hpp"

namespace vectis {
namespace {

using test::CostLaw;
using test::RegretCell;
using test::RegretReport;
using test::SimulatedDevice;

// How many sets of devices; VECTIS_PLAN_WORLDS makes it more.
std::uint64_t worlds() {
  const char* text = std::getenv("VECTIS_PLAN_WORLDS");
  return text == nullptr ? 24 : std::strtoull(text, nullptr, 10);
}

CostLaw host_law() {
  return {.name = "host",
          .launch_seconds = 5e-7,
          .compile_seconds = 0,
          .to_device = {2e-7, 1e10},
          .to_host = {2e-7, 1e10},
          .bytes_per_second = 2e10,
          .cache_bytes = 2e6,
          .cache_gain = 4,
          .operations_per_second = {2e11, 1.5e11, 1e12, 2e12},
          .half_rate_operations = 2e5,
          .search_efficiency = 0.7};
}

CostLaw integrated_law() {
  return {.name = "integrated",
          .launch_seconds = 1.2e-5,
          .to_device = {4e-6, 1.5e10},
          .to_host = {4e-6, 1.5e10},
          .bytes_per_second = 4e10,
          .cache_bytes = 8e6,
          .operations_per_second = {2e12, 4e12, 2e12, 4e12},
          .half_rate_operations = 4e6,
          .search_efficiency = 0.35};
}

CostLaw discrete_law() {
  return {.name = "discrete",
          .launch_seconds = 2.5e-5,
          .to_device = {1.2e-5, 1.2e10},
          .to_host = {1.5e-5, 1.3e10},
          .pinned_bytes = 2.5e8,
          .bytes_per_second = 8e11,
          .cache_bytes = 4e7,
          .operations_per_second = {2e13, 8e13, 8e13, 1.6e14},
          .half_rate_operations = 3e8,
          .search_efficiency = 0.25};
}

CostLaw software_law() {
  return {.name = "software",
          .launch_seconds = 6e-5,
          .to_device = {1.5e-5, 1e10},
          .to_host = {1.5e-5, 1e10},
          .bytes_per_second = 1.8e10,
          .operations_per_second = {5e9, 5e9, 5e9, 5e9},
          .half_rate_operations = 1e5,
          .search_efficiency = 0.8};
}

// The same kind of device, but another one: every number up to `spread` times larger or smaller.
CostLaw varied(CostLaw law, Random& random, double spread) {
  const auto vary = [&](double& number) { number *= std::pow(spread, 2 * random.unit() - 1); };
  for (double* number : {&law.launch_seconds, &law.to_device.bytes_per_second, &law.to_host.bytes_per_second,
                         &law.pinned_bytes, &law.bytes_per_second, &law.cache_bytes, &law.operations_per_second.fp32,
                         &law.operations_per_second.int8, &law.half_rate_operations, &law.search_efficiency}) {
    vary(*number);
  }
  law.overlap = 1.5 + 4 * random.unit();
  return law;
}

// Exact search: `batch` queries over `rows` vectors of `dimension` numbers, which lie on the host and, if resident, on
// the device too.
Workload search_work(double rows, double dimension, double batch, bool copied, bool on_host) {
  Workload work;
  work.name = "exact/fp32";
  work.operations.fp32 = 2 * rows * dimension * batch;
  work.bytes = 4 * dimension * (rows + batch);
  if (on_host) return work;
  work.copy_in_bytes = 4 * dimension * (batch + (copied ? rows : 0));
  work.copy_out_bytes = 12 * 10 * batch;
  work.launches = 2;
  return work;
}

class Regret : public testing::Test {
 protected:
  Regret() {
    os.variables["VECTIS_CACHE_PATH"] = "off";
    runtime.emplace(test::options_on(os));
  }

  void add_cells(std::span<const std::unique_ptr<SimulatedDevice>> devices) {
    for (const double rows : {300.0, 1e3, 1e4, 1e5, 3e5, 1e6}) {
      for (const double dimension : {32.0, 128.0, 768.0}) {
        for (const double batch : {1.0, 10.0, 100.0, 1000.0}) {
          for (const bool copied : {false, true}) {
            RegretCell& cell = cells.emplace_back();
            for (std::size_t i = 0; i < devices.size(); ++i) {
              cell.emplace_back(devices[i]->profile(), search_work(rows, dimension, batch, copied, i == 0));
            }
          }
        }
      }
    }
  }

  RegretReport judge(std::span<const std::unique_ptr<SimulatedDevice>> devices, std::uint64_t seed) {
    cells.clear();
    add_cells(devices);
    const auto measure = [&](std::size_t cell, std::size_t way) {
      return devices[way]->measure(cells[cell][way].workload);
    };
    return test::measure_regret(*runtime, cells, measure, {.rounds = 4, .seed = seed});
  }

  test::FakeOs os;
  std::optional<Runtime> runtime;
  std::vector<RegretCell> cells;
};

// The aims hold for the choices in all worlds together; in a single one luck has a part, but not in many.
TEST_F(Regret, OfSimulatedDevicesIsSmall) {
  constexpr double unlucky_max = 0.2;  // share of worlds
  Random random(test::seed());
  std::vector<RegretReport> reports;
  std::uint64_t unlucky = 0;
  for (std::uint64_t world = 0; world < worlds(); ++world) {
    const double spread = world % 2 == 0 ? 2 : 4;
    std::vector<std::unique_ptr<SimulatedDevice>> devices;
    for (const CostLaw& law : {host_law(), integrated_law(), discrete_law(), software_law()}) {
      devices.push_back(std::make_unique<SimulatedDevice>(varied(law, random, spread), random.next()));
    }
    reports.push_back(judge(devices, random.next()));
    EXPECT_GE(reports.back().cells, 100U);
    if (reports.back().planner.p95 > 0.25) ++unlucky;
  }
  const RegretReport all = test::joined(reports);
  std::cout << all.text() << fmt::format("95th over 25 % in {} of {} worlds\n", unlucky, worlds());
  const auto count = static_cast<double>(worlds());
  // Three standard deviations more than the share: few worlds say little about it.
  EXPECT_LE(static_cast<double>(unlucky), unlucky_max * count + 3 * std::sqrt(unlucky_max * (1 - unlucky_max) * count));
  EXPECT_GE(all.crossovers, 0.3);
  EXPECT_LE(all.planner.median, 0.05);
  EXPECT_LE(all.planner.p95, 0.25);
  EXPECT_LE(all.planner.mean, 0.5 * all.constant.mean);
}

// A profile wrong by 20, as of a machine that was busy: what history is worth.
TEST_F(Regret, OfAPlannerWithoutHistoryIsLarger) {
  Random random(test::seed());
  std::vector<std::unique_ptr<SimulatedDevice>> devices;
  for (const CostLaw& law : {host_law(), integrated_law(), discrete_law(), software_law()}) {
    devices.push_back(std::make_unique<SimulatedDevice>(law, random.next()));
  }
  DeviceProfile wrong = devices[2]->profile();
  wrong.operations_per_second.fp32 /= 20;
  wrong.memory_bytes_per_second /= 20;
  add_cells(devices);
  for (RegretCell& cell : cells) cell[2] = Placement(wrong, cell[2].workload);
  const auto measure = [&](std::size_t cell, std::size_t way) {
    return devices[way]->measure(cells[cell][way].workload);
  };
  const RegretReport report = test::measure_regret(*runtime, cells, measure, {.seed = random.next()});
  std::cout << report.text();
  EXPECT_GT(report.uncorrected.p95, 0.25);
  EXPECT_LE(report.planner.p95, report.uncorrected.p95 / 2);
  EXPECT_LE(report.planner.mean, report.uncorrected.mean / 2);
}

}  // namespace
}  // namespace vectis
