// Exact search through WebGPU, alone and beside other devices.
#include <gmock/gmock.h>

#include <iostream>
#include <thread>

#include "tests/exact_devices/problems.hpp"

namespace vectis::test {
namespace {

// A slice for every commit; the soak sets VECTIS_TEST_PROBLEMS.
int webgpu_problems() {
  const char* text = std::getenv("VECTIS_TEST_PROBLEMS");
  return text == nullptr ? 100 : std::atoi(text);
}

SearchProblem spread_corpus(Random& random) {
  SearchProblem problem;
  problem.dim = 40;
  problem.corpus = cloud(random, 12'000 * problem.dim);
  problem.queries = cloud(random, 33 * problem.dim);
  problem.segment_rows = 900;
  return problem;
}

class WebGpuSearch : public ExactDevicesTest {};

TEST_F(WebGpuSearch, RandomProblemsHaveTheirTruth) {
  exact::DeviceSearch devices = on({"webgpu"});
  for (int i = 0; i < webgpu_problems(); ++i) {
    Random own(seed() + static_cast<std::uint64_t>(i));
    std::vector<std::uint64_t> words;
    const SearchProblem problem = random_problem(own, words);
    expect_truth(problem, search(devices, problem));
    if (HasFatalFailure()) FAIL() << "problem " << i;
  }
  std::cout << webgpu_problems() << " random problems on " << devices.labels() << '\n';
}

// A device that gives kernels far less of a memory than a segment is, or what was found of a batch.
class WebGpuSearchInParts : public ExactDevicesTest {
 protected:
  static constexpr std::uint64_t limit = 256 << 10;  // bytes

  WebGpuSearchInParts() : ExactDevicesTest(with_small_bindings()) {}

 private:
  static RuntimeOptions with_small_bindings() {
    RuntimeOptions options;
    options.settings["backends.webgpu.binding_kb"] = std::to_string(limit >> 10U);
    return options;
  }
};

TEST_F(WebGpuSearchInParts, SegmentsLargerThanABindingHaveTheirTruth) {
  exact::DeviceSearch devices = on({"webgpu"});
  ASSERT_EQ(device("webgpu").info().limits.binding_bytes_max, limit);
  SearchProblem problem;
  problem.dim = 40;
  problem.corpus = cloud(random, 20'000 * problem.dim, 1, 3);
  problem.queries = cloud(random, 21 * problem.dim, 1, 3);
  problem.segment_rows = problem.rows();  // 800,000 bytes at least
  for (const Precision precision : precisions) {
    problem.precision = precision;
    expect_truth(problem, search(devices, problem));
  }
}

TEST_F(WebGpuSearchInParts, RandomProblemsHaveTheirTruth) {
  exact::DeviceSearch devices = on({"webgpu"});
  const int problems = webgpu_problems() / 5;
  for (int i = 0; i < problems; ++i) {
    Random own(seed() + 1'000'000 + static_cast<std::uint64_t>(i));
    std::vector<std::uint64_t> words;
    const SearchProblem problem = random_problem(own, words);
    expect_truth(problem, search(devices, problem));
    if (HasFatalFailure()) FAIL() << "problem " << i;
  }
  std::cout << problems << " random problems in parts of " << limit << " bytes on " << devices.labels() << '\n';
}

#if defined(VECTIS_HAS_OPENCL)
TEST_F(WebGpuSearch, OneCorpusIsSpreadOverThreeKindsOfDevice) {
  exact::DeviceSearch devices = on({"webgpu", "opencl:0", "cpu"});
  SearchProblem problem = spread_corpus(random);
  for (const Precision precision : precisions) {
    problem.precision = precision;
    for (const exact::DeviceSplit split : {exact::DeviceSplit::shards, exact::DeviceSplit::replicas})
      expect_truth(problem, search(devices, problem, split));
  }
  EXPECT_THAT(devices.labels(), testing::MatchesRegex("webgpu:0, opencl:0, cpu:0"));
}

// The search it was in ends with its name; the others, and a new start on it, go on.
TEST_F(WebGpuSearch, ADeviceLostInTheMiddleIsAnErrorAndTheOthersGoOn) {
  const SearchProblem problem = spread_corpus(random);
  const auto segments = segments_of(problem);
  {
    exact::DeviceSearch devices = on({"webgpu", "opencl:0", "cpu"});
    expect_truth(problem, devices.search(task(problem, segments)));
    std::thread loser([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      registry().configure("webgpu", "lose", "0");
    });
    const auto until_lost = [&] {
      for (int i = 0; i < 10'000; ++i) expect_truth(problem, devices.search(task(problem, segments)));
    };
    EXPECT_ERROR(until_lost(), ErrorCode::device_lost, "webgpu:0");
    loser.join();
    EXPECT_ERROR((void)devices.search(task(problem, segments)), ErrorCode::device_lost, "webgpu:0");
  }
  exact::DeviceSearch others = on({"opencl:0", "cpu"});
  expect_truth(problem, others.search(task(problem, segments)));
  Runtime again;
  const std::vector<Device> anew{*again.service<DeviceRegistry>().find("webgpu")};
  exact::DeviceSearch back(again, anew);
  expect_truth(problem, back.search(task(problem, segments)));
}
#endif

}  // namespace
}  // namespace vectis::test
