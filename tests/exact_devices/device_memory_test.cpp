// Several devices, small devices and failing ones.
#include <gmock/gmock.h>

#include <array>

#include "search/exact/device/resident.hpp"
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

// Only the new rows of a growing segment come from the host: the copy is continued with the same layout.
TEST_F(ExactDevicesTest, TheCopyOfAGrowingSegmentIsContinued) {
  for (const Precision precision : {Precision::int8, Precision::bf16, Precision::fp32}) {
    SCOPED_TRACE(name(precision));
    SearchProblem problem = many_segments(random);
    problem.precision = precision;
    problem.corpus.resize(700 * problem.dim);
    const std::vector<float> all = problem.corpus;
    std::vector<std::uint64_t> ids(700);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
    exact::Segment segment(runtime().executor(), problem.metric, precision, problem.dim, 700,
                           std::span(all).first(300 * problem.dim), std::span(ids).first(300));
    exact::ResidentSegments resident(runtime(), device("failing"));
    exact::DeviceSearch devices = on({"failing"});
    Stream stream(
        memory_pool(runtime()).get_managed_buffer(device("failing").id(), 1, Precision::fp32).memory().context());
    const auto get = [&] {
      const exact::SegmentView view = segment.view();
      return resident.get({&view, 1}, std::array{std::size_t{0}}, stream, 0);
    };
    const auto is_wanted = [&] {
      const exact::SegmentView view = segment.view();
      return !resident.wanted({&view, 1}, std::array{std::size_t{0}}).empty();
    };
    EXPECT_TRUE(is_wanted());
    const exact::ResidentPlaces first = get();
    ASSERT_EQ(first.resident.size(), 1U);
    EXPECT_EQ(get().resident[0].block, first.resident[0].block) << "another view of the same rows";
    EXPECT_FALSE(is_wanted());
    std::size_t before = 300;
    for (const std::size_t rows : {301U, 302U, 317U, 600U, 601U, 700U}) {
      segment.append(runtime().executor(), std::span(all).subspan(before * problem.dim, (rows - before) * problem.dim),
                     std::span(ids).subspan(before, rows - before));
      const exact::ResidentPlaces grown = get();
      EXPECT_TRUE(grown.streamed.empty());
      ASSERT_EQ(grown.resident.size(), 1U) << "one block";
      ASSERT_EQ(grown.resident[0].runs.size(), 1U) << "one run";
      EXPECT_EQ(grown.resident[0].runs[0].rows, rows);
      EXPECT_EQ(grown.resident[0].block->layout, first.resident[0].block->layout);
      EXPECT_LE(resident.bytes(), (rows + rows / 8) * (grown.resident[0].block->layout->row_bytes() + 16))
          << "one copy";
      problem.corpus.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(rows * problem.dim));
      expect_truth(problem, devices.search(task(problem, {segment.view()})));
      before = rows;
    }
  }
}

// Without memory for both, the new rows get a block of their own.
TEST_F(ExactDevicesTest, AGrowingSegmentNeedsNoMemoryForTwoCopies) {
  const SearchProblem problem = many_segments(random);
  std::vector<std::uint64_t> ids(9000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  exact::Segment segment(runtime().executor(), problem.metric, Precision::fp32, problem.dim, 9000,
                         std::span(problem.corpus).first(8000 * problem.dim), std::span(ids).first(8000));
  exact::ResidentSegments resident(runtime(), device("failing"));
  MemoryPool& pool = memory_pool(runtime());
  Stream stream(pool.get_managed_buffer(device("failing").id(), 1, Precision::fp32).memory().context());
  const auto get = [&] {
    const exact::SegmentView view = segment.view();
    return resident.get({&view, 1}, std::array{std::size_t{0}}, stream, 0);
  };
  ASSERT_EQ(get().resident.size(), 1U);
  ASSERT_TRUE(pool.set_max_pool_size(device("failing").id(), resident.bytes() * 5 / 4));
  segment.append(runtime().executor(), std::span(problem.corpus).subspan(8000 * problem.dim),
                 std::span(ids).subspan(8000));
  const exact::ResidentPlaces grown = get();
  EXPECT_TRUE(grown.streamed.empty());
  std::size_t rows = 0;
  for (const exact::ResidentRows& part : grown.resident) rows += part.runs[0].rows;
  EXPECT_EQ(rows, 9000U);
  EXPECT_EQ(grown.resident.size(), 2U);
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
  exact::BatchTuner tuner;
  std::vector<std::vector<Hit>> hits(40);
  const std::vector<std::size_t> all = {0, 1, 2};
  try {
    (void)scan.scan(one, all, tuner, 40, hits);
    FAIL() << "there was memory";
  } catch (const OutOfMemoryError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("set gpu.batch_size to 1"));
    EXPECT_THAT(error.what(), testing::HasSubstr("failing"));
  }
}

TEST_F(ExactDevicesTest, AFailingDeviceIsAnErrorWithItsName) {
  exact::DeviceSearch devices = on({"failing"});
  const SearchProblem problem = many_segments(random);
  for (const char* call : {"copy_to_device 5", "copy_to_host 1", "stream_synchronize 2", "run_op 3", "fill 1"}) {
    SCOPED_TRACE(call);
    registry().configure("failing", "fail", std::string(call) + " driver_failure");
    EXPECT_ERROR((void)search(devices, problem), ErrorCode::driver_failure, "failing");
    registry().configure("failing", "reset", "");
    expect_truth(problem, search(devices, problem));  // and the next search works
  }
}

// One call halves what the vectors take on the host and on the device.
TEST_F(ExactDevicesTest, HalfPrecisionTakesHalfOfTheMemory) {
  constexpr std::size_t wide = 512;
  constexpr std::size_t rows = 3000;
  const auto index = make_index("gpu", wide, Metric::l2, {.device = "failing", .runtime = &runtime()});
  index->add(cloud(random, rows * wide));
  const std::vector<float> query = cloud(random, wide);
  const auto bytes_at = [&](auto&& change) {
    change();
    (void)index->search(query, 1);
    return std::pair(index->statistics().bytes, index->statistics().device_bytes);
  };
  const auto [host, device] = bytes_at([&] { index->set_precision(Precision::fp32); });
  EXPECT_GE(host, rows * wide * sizeof(float));
  EXPECT_GE(device, rows * wide * sizeof(float));
  const auto [half_host, half_device] = bytes_at([&] { index->drop_full_precision(Precision::fp16); });
  EXPECT_EQ(index->precision(), Precision::fp16);
  EXPECT_LE(static_cast<double>(half_host), 0.53 * static_cast<double>(host));
  EXPECT_LE(static_cast<double>(half_device), 0.53 * static_cast<double>(device));
  std::cout << "fp32: " << host << " and " << device << " bytes, fp16: " << half_host << " and " << half_device << '\n';
}

TEST_F(ExactDevicesTest, ADropThatFailsKeepsThePrecision) {
  const auto index = make_index("flat", 8, Metric::l2, {.runtime = &runtime()});
  index->add(cloud(random, 100 * 8));
  const Precision before = index->precision();
  const std::vector<float> vector = index->get(3).value();
  const Context throwing = Context{}.with_progress([](const Progress& progress) {
    if (progress.operation == "drop_full_precision") throw Error(ErrorCode::cancelled, "a test", "enough");
  });
  EXPECT_ERROR(index->drop_full_precision(Precision::fp16, throwing), ErrorCode::cancelled, "enough");
  EXPECT_EQ(index->precision(), before);
  EXPECT_EQ(index->get(3).value(), vector);
  EXPECT_ERROR(make_index("graph", 8, Metric::l2, {.runtime = &runtime()})->drop_full_precision(Precision::fp16),
               ErrorCode::unsupported, "int8");
}

}  // namespace
}  // namespace vectis::test
