// Exact search on one, two and four devices of the test driver, compared with ground truth in double precision.
#include <iostream>

#include "tests/cuda/steering.hpp"
#include "tests/exact_devices/fixture.hpp"

namespace vectis::test {
namespace {

class SearchOnTheTestDriver : public ExactDevicesTest, public testing::WithParamInterface<std::string> {
 protected:
  SearchOnTheTestDriver() : driver(driver_of(GetParam())) { driver.set_order(seed() | 1U); }
  ~SearchOnTheTestDriver() override { EXPECT_EQ(driver.violations(), 0) << driver.last_violation(); }

  exact::DeviceSearch on_devices(std::size_t count) {
    std::vector<Device> devices;
    for (std::size_t i = 0; i < count; ++i) devices.push_back(device(GetParam() + ":" + std::to_string(i)));
    return {runtime(), devices};
  }

  SearchProblem any_problem() {
    constexpr std::array distances = {Metric::l2, Metric::cosine, Metric::inner_product};
    constexpr std::array precisions = {Precision::int8, Precision::bf16, Precision::fp16, Precision::fp32};
    SearchProblem problem;
    problem.dim = 1 + random.below(64);
    problem.metric = distances[random.below(distances.size())];
    problem.precision = precisions[random.below(precisions.size())];
    problem.corpus = cloud(random, (1 + random.below(400)) * problem.dim, 1, random.below(2) == 0 ? 0 : 3);
    problem.queries = cloud(random, (1 + random.below(6)) * problem.dim);
    problem.k = 1 + random.below(12);
    problem.segment_rows = 100 + random.below(200);
    return problem;
  }

  const VectisTestDriver& driver;
};

std::size_t problem_count(const std::string& backend) {
  const char* wanted = std::getenv("VECTIS_TEST_SEARCHES");
  if (wanted != nullptr) return std::strtoul(wanted, nullptr, 10);
  return backend == "hip" ? 25 : 100;
}

TEST_P(SearchOnTheTestDriver, RandomProblemsMatchTheGroundTruth) {
  std::vector<exact::DeviceSearch> searches;
  for (const std::size_t count : {1U, 2U, 4U}) searches.push_back(on_devices(count));
  const std::size_t problems = problem_count(GetParam());
  for (std::size_t i = 0; i < problems; ++i) {
    const SearchProblem problem = any_problem();
    const auto split = i % 2 == 0 ? exact::DeviceSplit::shards : exact::DeviceSplit::replicas;
    expect_truth(problem, search(searches[i % searches.size()], problem, split));
    if (HasFatalFailure()) return;
  }
  std::cout << GetParam() << ": " << problems << " problems on one, two and four devices\n";
}

INSTANTIATE_TEST_SUITE_P(Backends, SearchOnTheTestDriver, testing::ValuesIn(test_driver_backends()), case_name);

}  // namespace
}  // namespace vectis::test
