// How far the planner's choices for exact search are from the best ones: the host, OpenCL on PoCL and a simulated
// GPU, over sizes, dimensions, batches and whether the rows are on the device already. Prints the report.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <vector>

#include "search/exact/device/search.hpp"
#include "search/exact/host_search.hpp"
#include "search/workloads.hpp"
#include "tests/support/regret.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/simulated_device.hpp"
#include "vectis/base/time.hpp"
#include "vectis/device/registry.hpp"

namespace vectis::test {
namespace {

// A small card behind half a bus: good at large batches of rows it holds. It was chosen so that neither it nor the
// processor is best everywhere.
CostLaw card() {
  return {.name = "simulated",
          .launch_seconds = 1e-5,
          .compile_seconds = 0.1,
          .to_device = {1e-5, 6e9},
          .to_host = {1e-5, 6e9},
          .bytes_per_second = 1e11,
          .cache_bytes = 2e6,
          .operations_per_second = {1e12, 2e12, 2e12, 4e12},
          .half_rate_operations = 2e6,
          .search_efficiency = 0.4};
}

std::vector<float> noise(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit() + random.unit() - 1);
  return values;
}

// Rows of one size, as a segment, with queries.
struct Vectors {
  Vectors(Runtime& runtime, Random& random, std::size_t rows, std::size_t columns)
      : dim(columns), queries(noise(random, 256 * columns)) {
    const std::vector<float> vectors = noise(random, rows * dim);
    const std::vector<std::uint64_t> ids(rows);
    const exact::Segment segment(runtime.executor(), Metric::l2, Precision::int8, dim, rows, vectors, ids);
    segments.push_back(segment.view());
  }
  std::size_t dim;
  std::vector<float> queries;
  std::vector<exact::SegmentView> segments;
};

struct Cell {
  const Vectors* vectors = nullptr;
  std::size_t batch = 1;
  bool resident = false;

  [[nodiscard]] std::span<const float> queries() const {
    return std::span(vectors->queries).first(batch * vectors->dim);
  }
  [[nodiscard]] exact::SearchTask task(const SearchOptions& options) const {
    return {.segments = vectors->segments,
            .dim = vectors->dim,
            .metric = Metric::l2,
            .precision = Precision::int8,
            .queries = queries(),
            .k = 10,
            .options = &options};
  }
};

class PlannerBench {
 public:
  explicit PlannerBench(Runtime& runtime)
      : runtime_(runtime), card_(card(), seed()), opencl_(runtime.service<DeviceRegistry>().find("opencl").value()) {
    Random random(seed());
    for (const std::size_t rows : {1000U, 4000U, 16000U, 64000U}) {
      for (const std::size_t dim : {16U, 64U, 256U})
        corpora_.push_back(std::make_unique<Vectors>(runtime, random, rows, dim));
    }
    const Device cpu = runtime.service<DeviceRegistry>().find("cpu").value();
    for (const auto& vectors : corpora_) {
      for (const std::size_t batch : {1U, 4U, 16U, 64U, 256U}) {
        for (const bool resident : {false, true}) {
          const Cell& cell = cells_.emplace_back(Cell{vectors.get(), batch, resident});
          const double held = resident ? exact::scanned_bytes(cell.task(options_)) : 0.0;
          const Workload there = exact::work_on_device(cell.task(options_), batch, held);
          ways_.push_back({Placement(cpu, exact::work_on_host(cell.task(options_), batch)), Placement(opencl_, there),
                           Placement(card_.profile(), there)});
        }
      }
    }
  }

  std::string report() {
    const auto measure = [&](std::size_t cell, std::size_t way) {
      return seconds(cells_[cell], ways_[cell][way], way);
    };
    return measure_regret(runtime_, ways_, measure, {.seed = seed()}).text();
  }

 private:
  // The median of as many searches as fill two milliseconds, an odd number of them: a single short one is mostly
  // chance.
  double seconds(const Cell& cell, const Placement& way, std::size_t number) {
    constexpr double enough = 2e-3;
    std::vector<double> all;
    for (double sum = 0; sum < enough || all.size() % 2 == 0; sum += all.back()) all.push_back(once(cell, way, number));
    return regret::middle(std::move(all));
  }

  double once(const Cell& cell, const Placement& way, std::size_t number) {
    if (number == 2) return card_.measure(way.workload);
    if (number == 0) return timed([&] { search_here(cell); });
    exact::DeviceSearch device(runtime_, std::span(&opencl_, 1));
    if (cell.resident) search_there(device, cell);
    return timed([&] { search_there(device, cell); });
  }

  template <class Call>
  static double timed(Call call) {
    const std::uint64_t begin = monotonic_nanoseconds();
    call();
    return static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  }

  void search_here(const Cell& cell) {
    static_cast<void>(exact::host_search(runtime_.executor(), cell.task(options_)));
  }

  void search_there(exact::DeviceSearch& device, const Cell& cell) {
    static_cast<void>(device.search(cell.task(options_)));
  }

  Runtime& runtime_;
  SearchOptions options_;
  SimulatedDevice card_;
  Device opencl_;
  std::vector<std::unique_ptr<Vectors>> corpora_;
  std::vector<Cell> cells_;
  std::vector<RegretCell> ways_;
};

}  // namespace
}  // namespace vectis::test

int main() {
  vectis::Runtime runtime;
  std::cout << "VECTIS_TEST_SEED=" << vectis::test::seed() << '\n' << vectis::test::PlannerBench(runtime).report();
}
