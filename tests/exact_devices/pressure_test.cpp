// Rows on a device whose memory the pool takes back.
#include <gmock/gmock.h>

#include <array>

#include "search/exact/device/resident.hpp"
#include "tests/exact_devices/fixture.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

class PressureTest : public ExactDevicesTest {
 protected:
  static constexpr std::size_t pressure_dim = 16;

  exact::Segment segment(std::size_t rows, double shift, std::size_t capacity = 0) {
    std::vector<std::uint64_t> ids(rows);
    for (std::uint64_t& id : ids) id = next_id++;
    const std::vector<float> vectors = cloud(random, rows * pressure_dim, 1, shift);
    return {runtime().executor(), Metric::l2, Precision::int8, pressure_dim, std::max(rows, capacity), vectors, ids};
  }
  exact::ResidentPlaces get(exact::ResidentSegments& resident, const exact::SegmentView& view) {
    return resident.get({&view, 1}, std::array{std::size_t{0}}, stream, 0);
  }
  MemoryPool& pool() { return memory_pool(runtime()); }
  int id() { return device("failing").id(); }
  MemoryStats stats() { return *pool().get_memory_stats(id()); }

  std::uint64_t next_id = 0;
  Stream stream{
      memory_pool(runtime()).get_managed_buffer(device("failing").id(), 1, Precision::fp32).memory().context()};
};

// The mask finds no memory, so that the pool drops two blocks before that of the mask.
TEST_F(PressureTest, AMaskMayTakeTheMemoryOfBlocksThatNoScanUses) {
  exact::ResidentSegments resident(runtime(), device("failing"));
  const exact::Segment unused[] = {segment(100, 0), segment(400000, -1000)};
  const exact::Segment used = segment(400000, 1000);
  std::vector<ManagedBuffer> rest;
  {
    const exact::ResidentPlaces places[] = {get(resident, unused[0].view()), get(resident, unused[1].view()),
                                            get(resident, used.view())};
    ASSERT_TRUE(pool().set_max_pool_size(id(), stats().in_use_bytes + 65536));
    try {
      for (;;) rest.push_back(pool().get_managed_buffer(id(), 1024, Precision::fp32));
    } catch (const OutOfMemoryError&) {  // nothing is left, and all blocks are in use
    }
  }
  exact::SegmentView masked = used.view();
  const auto removed = std::make_shared<std::uint64_t[]>(400000 / 64 + 1);
  removed.get()[0] = 5;
  masked.removed = removed;
  const exact::ResidentPlaces found = get(resident, masked);
  EXPECT_EQ(resident.bytes(), 400000U * (pressure_dim + 16)) << "one block";
  ASSERT_EQ(found.resident.size(), 1U);
  ASSERT_NE(found.resident[0].mask, nullptr);
  EXPECT_EQ(get(resident, masked).resident[0].mask, found.resident[0].mask) << "kept for the next search";
}

// A segment has rows in two blocks, of which the pool takes back the first.
TEST_F(PressureTest, ASegmentThatLostItsFirstRowsIsBroughtAnew) {
  exact::ResidentSegments resident(runtime(), device("failing"));
  exact::Segment growing = segment(80000, 0, 90000);
  (void)get(resident, growing.view());
  ASSERT_TRUE(pool().set_max_pool_size(id(), stats().in_use_bytes * 5 / 4));
  const std::vector<float> more = cloud(random, 10000 * pressure_dim);
  std::vector<std::uint64_t> ids(10000);
  for (std::uint64_t& one : ids) one = next_id++;
  growing.append(runtime().executor(), more, ids);
  ASSERT_EQ(get(resident, growing.view()).resident.size(), 2U);
  // Another user of the pool needs some of the memory for a while.
  (void)pool().get_managed_buffer(id(), 1270000, Precision::int8);
  ASSERT_LT(resident.bytes(), 90000U * (pressure_dim + 16));
  ASSERT_GT(resident.bytes(), 0U) << "one block";
  ASSERT_TRUE(pool().set_max_pool_size(id(), std::uint64_t{200} << 20));
  const exact::ResidentPlaces again = get(resident, growing.view());
  EXPECT_TRUE(again.streamed.empty());
  std::size_t rows = 0;
  for (const exact::ResidentRows& part : again.resident) {
    for (const exact::RowRun& run : part.runs) rows += run.rows;
  }
  EXPECT_EQ(rows, 90000U);
}

// Many neighbors need more memory than a search of few left free.
TEST_F(PressureTest, RowsThatStayLeaveRoomForASearchThatWouldRunWithoutThem) {
  SearchProblem problem;
  problem.dim = 16;
  problem.corpus = cloud(random, 250000 * problem.dim);
  problem.queries = cloud(random, problem.dim);
  problem.segment_rows = 2000;
  const auto segments = segments_of(problem);
  ASSERT_TRUE(memory_pool(runtime()).set_max_pool_size(device("failing").id(), std::uint64_t{12} << 20U));
  for (const std::size_t k : {20000U, 34000U, 38000U}) {
    SCOPED_TRACE(k);
    problem.k = k;
    const auto alone = on({"failing"}).search(task(problem, segments)).hits;
    exact::DeviceSearch devices = on({"failing"});
    problem.k = 10;
    expect_truth(problem, devices.search(task(problem, segments)));
    EXPECT_GE(devices.resident_bytes(), 250000U * (16 + 16));
    problem.k = k;
    EXPECT_EQ(devices.search(task(problem, segments)).hits, alone);
  }
}

}  // namespace
}  // namespace vectis::test
