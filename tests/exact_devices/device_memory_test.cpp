// Several devices, small devices and failing ones.
#include <gmock/gmock.h>

#include "tests/exact_devices/fixture.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

SearchProblem many_segments(Random& random) {
  SearchProblem problem;
  problem.dim = 48;
  problem.corpus = cloud(random, 9000 * problem.dim);
  problem.queries = cloud(random, 40 * problem.dim);
  problem.segment_rows = 1000;
  return problem;
}

#if defined(VECTIS_HAS_OPENCL)
TEST_F(ExactDevicesTest, ShardsAndReplicasAgreeWithOneDevice) {
  exact::DeviceSearch both = on({"opencl:0", "opencl:1"});
  EXPECT_EQ(both.labels(), "opencl:0, opencl:1");
  for (const Precision precision : {Precision::int8, Precision::fp32}) {
    SearchProblem problem = many_segments(random);
    problem.precision = precision;
    for (const exact::DeviceSplit split : {exact::DeviceSplit::shards, exact::DeviceSplit::replicas}) {
      expect_truth(problem, search(both, problem, split));
      problem.queries.resize(problem.dim);  // fewer queries than devices
      expect_truth(problem, search(both, problem, split));
    }
  }
}
#endif

TEST_F(ExactDevicesTest, SegmentsStayUntilTheyAreGone) {
  exact::DeviceSearch devices = on({"cpu"});
  const SearchProblem problem = many_segments(random);
  {
    const auto segments = segments_of(problem);
    expect_truth(problem, devices.search(task(problem, segments)));
    const std::uint64_t bytes = devices.resident_bytes();
    EXPECT_EQ(bytes, 9000U * (48 + 16));
    expect_truth(problem, devices.search(task(problem, segments)));
    EXPECT_EQ(devices.resident_bytes(), bytes);
  }
  SearchProblem small = many_segments(random);
  small.corpus.resize(100 * small.dim);
  expect_truth(small, search(devices, small));
  EXPECT_EQ(devices.resident_bytes(), 100U * (48 + 16));
}

TEST_F(ExactDevicesTest, ASegmentThatGrowsIsBroughtAnew) {
  exact::DeviceSearch devices = on({"cpu"});
  SearchProblem problem = many_segments(random);
  problem.corpus.resize(500 * problem.dim);
  std::vector<std::uint64_t> ids(500);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  const std::vector<float> all = problem.corpus;
  exact::Segment segment(runtime().executor(), problem.metric, problem.precision, problem.dim, 500,
                         std::span(all).first(203 * problem.dim), std::span(ids).first(203));
  const exact::SegmentView before = segment.view();
  problem.corpus.resize(203 * problem.dim);
  expect_truth(problem, devices.search(task(problem, {before})));
  segment.append(runtime().executor(), std::span(all).subspan(203 * problem.dim), std::span(ids).subspan(203));
  problem.corpus = all;
  expect_truth(problem, devices.search(task(problem, {segment.view()})));
  problem.corpus.resize(203 * problem.dim);
  expect_truth(problem, devices.search(task(problem, {before})));  // the longer one serves it
}

TEST_F(ExactDevicesTest, ACorpusOverTheLimitStreamsThrough) {
  exact::DeviceSearch devices = on({"failing"});
  SearchProblem problem = many_segments(random);
  problem.dim = 200;
  problem.precision = Precision::fp32;
  problem.corpus = cloud(random, 9000 * problem.dim);
  problem.queries = cloud(random, 40 * problem.dim);
  MemoryPool& pool = memory_pool(runtime());
  ASSERT_TRUE(pool.set_max_pool_size(device("failing").id(), std::uint64_t{6} << 20));
  const auto answer = search(devices, problem);
  expect_truth(problem, answer);
  ASSERT_TRUE(pool.set_max_pool_size(device("failing").id(), std::uint64_t{200} << 20));
  const auto roomy = search(devices, problem);
  expect_truth(problem, roomy);
  EXPECT_GT(answer.counts.streamed_segments, 0U);
  EXPECT_EQ(roomy.counts.streamed_segments, 0U);
}

TEST_F(ExactDevicesTest, NoMemoryIsAnErrorThatSuggestsASmallerBatch) {
  exact::DeviceScan scan(runtime(), device("failing"));
  const SearchProblem problem = many_segments(random);
  ASSERT_TRUE(memory_pool(runtime()).set_max_pool_size(device("failing").id(), std::uint64_t{1} << 20));
  EXPECT_EQ(scan.batch_size(problem.dim, problem.k), 1U);
  const auto segments = segments_of(problem);
  const exact::SearchTask one = task(problem, segments);
  exact::SharedLimits limits(40, exact::initial_limit(one));
  exact::Candidates candidates(one, limits);
  const std::vector<std::size_t> all = {0, 1, 2};
  try {
    (void)scan.scan(one, all, limits, candidates);
    FAIL() << "there was memory";
  } catch (const OutOfMemoryError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("set gpu.batch_size to 1"));
    EXPECT_THAT(error.what(), testing::HasSubstr("failing"));
  }
}

TEST_F(ExactDevicesTest, AFailingDeviceIsAnErrorWithItsName) {
  exact::DeviceSearch devices = on({"failing"});
  const SearchProblem problem = many_segments(random);
  for (const char* call : {"copy_to_device 5", "copy_to_host 1", "stream_synchronize 2", "run_op 3", "fill 2"}) {
    SCOPED_TRACE(call);
    registry().configure("failing", "fail", std::string(call) + " driver_failure");
    EXPECT_ERROR((void)search(devices, problem), ErrorCode::driver_failure, "failing");
    registry().configure("failing", "reset", "");
    expect_truth(problem, search(devices, problem));  // and the next search works
  }
}

}  // namespace
}  // namespace vectis::test
