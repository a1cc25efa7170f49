// What exact search asks of a driver: launches, copies and waits of one query, and the overlap of batches.
#include <algorithm>
#include <iostream>
#include <numeric>

#include "search/report/count_work.hpp"
#include "tests/cuda/steering.hpp"
#include "tests/exact_devices/fixture.hpp"

namespace vectis::test {
namespace {

constexpr std::size_t segments = 8;  // as many as a million vectors of 128 floats have

class SearchCallsTest : public ExactDevicesTest {
 protected:
  SearchCallsTest() : driver(driver_of("cuda")) { driver.set_order(seed() | 1U); }
  ~SearchCallsTest() override {
    driver.begin_timeline(0);
    driver.set("pinned", 1);
    EXPECT_EQ(driver.violations(), 0) << driver.last_violation();
  }

  SearchProblem problem(std::size_t rows, std::size_t queries) {
    SearchProblem made;
    made.dim = 16;
    made.corpus = cloud(random, rows * made.dim);
    made.queries = cloud(random, queries * made.dim);
    made.k = 10;
    made.segment_rows = rows / segments;
    return made;
  }

  std::uint32_t calls(std::initializer_list<const char*> functions) {
    return std::accumulate(functions.begin(), functions.end(), std::uint32_t{0},
                           [&](std::uint32_t sum, const char* name) { return sum + calls_of(driver, name); });
  }

  // The share of the host's work during which the device worked, in a search of rows that are on the device: the
  // largest of three searches, since sizes of batches are still tried, and other sizes may need other kernels to be
  // compiled.
  double overlap(const SearchProblem& of, std::uint64_t kernel_nanoseconds) {
    exact::DeviceSearch devices = on({"cuda:0"});
    const auto views = segments_of(of);
    expect_truth(of, devices.search(task(of, views)));
    double largest = 0;
    for (int i = 0; i < 3 && largest < 0.9; ++i) {
      driver.begin_timeline(kernel_nanoseconds);
      (void)devices.search(task(of, views));
      std::uint64_t host = 0;
      std::uint64_t overlapped = 0;
      std::uint64_t device = 0;
      driver.timeline(&host, &overlapped, &device);
      driver.begin_timeline(0);
      std::cout << "host " << host / 1000 << " us, overlapped " << overlapped / 1000 << " us, device " << device / 1000
                << " us\n";
      largest = std::max(largest, static_cast<double>(overlapped) / static_cast<double>(host));
    }
    return largest;
  }

  const VectisTestDriver& driver;
};

// The number of pieces in which rows are scanned grows with their logarithm: of a million rows there are three, and
// here as well.
TEST_F(SearchCallsTest, OneQueryTakesEightLaunchesThreeCopiesAndOneWait) {
  const SearchProblem one = problem(80000, 1);
  exact::DeviceSearch devices = on({"cuda:0"});
  const auto views = segments_of(one);
  expect_truth(one, devices.search(task(one, views)));
  driver.reset();
  const std::int64_t pageable = driver.pageable_copies();
  const auto answer = devices.search(task(one, views));
  const std::uint32_t launches = calls({"cuLaunchKernel", "cuLaunchKernelEx"});
  const std::uint32_t copies = calls({"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2"});
  const std::uint32_t waits = calls({"cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize"});
  std::cout << launches << " launches, " << copies << " copies, " << waits << " waits\n";
  EXPECT_LE(launches, 8U);
  EXPECT_LE(copies, 3U);
  EXPECT_EQ(waits, 1U);
  EXPECT_EQ(driver.pageable_copies(), pageable);
  expect_truth(one, answer);
}

// `vectis report` predicts times from the calls that reach the driver.
TEST_F(SearchCallsTest, TheReportCountsWhatTheDriverIsAsked) {
  SearchProblem some = problem(80000, 20);
  some.precision = Precision::fp32;
  exact::DeviceSearch devices = on({"cuda:0"});
  const auto views = segments_of(some);
  expect_truth(some, devices.search(task(some, views)));
  driver.reset();
  const Device device = registry().find("cuda:0").value();
  const detail::EnqueuedWork work =
      detail::count_work(runtime(), device, [&] { (void)devices.search(task(some, views)); });
  EXPECT_EQ(work.launches, calls({"cuLaunchKernel", "cuLaunchKernelEx", "cuMemsetD8Async"}));
  EXPECT_EQ(work.copies, calls({"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2"}));
  const double rows = static_cast<double>(some.corpus.size()) / static_cast<double>(some.dim);
  const ModelRates rates = detail::model_rates({}, profile(device), {});
  const JobPrediction predicted = detail::predict_search(work, {some.precision, 80000, 20, some.dim}, device, rates);
  ASSERT_EQ(predicted.missing, "");
  EXPECT_GE(predicted.counts.bytes, rows * static_cast<double>(some.dim * 4 + 16));
  EXPECT_GT(predicted.counts.fused, rows * 20 * static_cast<double>(some.dim));
  const JobPrediction other = detail::predict_search(work, {some.precision, 80000, 19, some.dim}, device, rates);
  EXPECT_EQ(other.missing, "the queries were searched in several batches");
}

TEST_F(SearchCallsTest, TheHostWorksWhileTheDeviceDoes) {
  const double share = overlap(problem(200, 10000), 5'000'000);
  std::cout << "overlapped: " << share << '\n';
  EXPECT_GE(share, 0.9);
}

// The measure can fail: copies of pageable memory wait.
TEST_F(SearchCallsTest, WithoutPinnedMemoryTheHostWaits) {
  driver.set("pinned", 0);
  const double share = overlap(problem(200, 3000), 5'000'000);
  std::cout << "overlapped without pinned memory: " << share << '\n';
  EXPECT_LT(share, 0.9);
}

}  // namespace
}  // namespace vectis::test
