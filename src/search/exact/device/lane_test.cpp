// Host memory that a scan on a device copies from stays as it is until the copies have run.
#include "search/exact/device/lane.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "tests/support/brute_force.hpp"
#include "tests/support/deferred_backend.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/fake_runtime.hpp"
#include "vectis/device/registry.hpp"

namespace vectis {
namespace {

using test::DeferredBackend;
using test::Floats;

constexpr std::size_t lane_dim = 8;
constexpr std::size_t lane_rows = 40;

// Forty rows and two queries, on a device that runs operations but does not compute.
class DeviceLaneCopies : public test::FakeRuntimeTest {
 protected:
  DeviceLaneCopies() {
    DeferredBackend::install(os);
    DeferredBackend::operation = [](const VectisOpCall&) { return [] {}; };
    for (std::size_t i = 0; i < lane_rows; ++i) ids.push_back(i);
  }

  exact::SegmentView view() {
    return exact::Segment(runtime().executor(), Metric::l2, Precision::int8, lane_dim, lane_rows, rows, ids).view();
  }
  exact::SearchTask task(std::span<const exact::SegmentView> segments) {
    return {.segments = segments, .dim = lane_dim, .queries = queries, .k = 3, .options = &options};
  }
  DeviceContext context() {
    return memory_pool(runtime()).get_managed_buffer(device(), 1, Precision::fp32).memory().context();
  }
  int device() { return runtime().service<DeviceRegistry>().find("cuda:0").value().id(); }

  Random random{1};
  Floats rows = test::random_rows(random, lane_rows, lane_dim);
  Floats queries = test::random_rows(random, 2, lane_dim);
  std::vector<std::uint64_t> ids;
  SearchOptions options;
};

// More candidates than the lane has room for: the second scan, in smaller ranges, fails.
TEST_F(DeviceLaneCopies, OutliveASecondScanThatFails) {
  int scans = 0;
  DeferredBackend::operation = [&](const VectisOpCall& call) -> std::function<void()> {
    if (call.name != std::string_view("scan_bounds")) return [] {};
    if (++scans > 4) return nullptr;  // the second scan begins
    const std::span<std::byte> counts = DeferredBackend::bytes(call.views[6].memory);
    return [counts] {
      const std::int32_t too_many = std::numeric_limits<std::int32_t>::max();
      for (std::size_t query = 0; query < 2; ++query) std::memcpy(counts.data() + query * 4, &too_many, 4);
    };
  };
  const std::vector<exact::SegmentView> segments{view()};
  const exact::SearchTask search = task(segments);
  exact::LaneResources resources(context());
  {
    exact::DeviceLane lane(runtime(), device(), resources, search, 2, 8, 4);
    lane.start(std::make_shared<exact::QueryBatch>(search, 0, 2), 0);
    EXPECT_ERROR(lane.finish(), ErrorCode::driver_failure, "no more operations");
    EXPECT_GT(DeferredBackend::pending, 0);
  }
  EXPECT_EQ(DeferredBackend::pending, 0);
  EXPECT_EQ(DeferredBackend::changed, 0) << "copies of queries that were freed";
}

// Removed rows have a mask, which is copied from memory that is freed afterwards.
TEST_F(DeviceLaneCopies, OfAMaskAreDoneBeforeItsSourceIsFreed) {
  std::vector<exact::SegmentView> segments{view()};
  const auto removed = std::make_shared<std::uint64_t[]>(1);
  removed.get()[0] = 5;
  segments[0].removed = removed;
  const exact::SearchTask search = task(segments);
  exact::LaneResources resources(context());
  exact::DeviceLane lane(runtime(), device(), resources, search, 2, 100, 8);
  for (int i = 0; i < 2; ++i) {
    lane.start(std::make_shared<exact::QueryBatch>(search, 0, 2), 0);
    EXPECT_EQ(lane.finish(), 0U);
  }
  EXPECT_EQ(DeferredBackend::changed, 0);
}

// The copy of the terms fails after that of the codes.
TEST_F(DeviceLaneCopies, OfASegmentThatStaysAreDoneWhenOneFails) {
  const exact::SegmentView segment = view();
  exact::ResidentSegments resident(runtime(), runtime().service<DeviceRegistry>().find("cuda:0").value());
  Stream stream(context());
  const auto get = [&] { return resident.get({&segment, 1}, std::array{std::size_t{0}}, stream, 0); };
  DeferredBackend::copies_until_failure = 2;
  EXPECT_ERROR((void)get(), ErrorCode::driver_failure, "no more copies");
  EXPECT_EQ(DeferredBackend::pending, 0) << "a copy of codes that were freed";
  EXPECT_EQ(resident.bytes(), 0U);
  EXPECT_EQ(get().resident.size(), 1U);
  EXPECT_EQ(DeferredBackend::changed, 0);
}

}  // namespace
}  // namespace vectis
