// A graph index on a device: hits have exact distances, recall is as requested, and the explanation names the device.
#include <gmock/gmock.h>

#include "search/graph/device.hpp"
#include "tests/graph_devices/fixture.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/memory/explain.hpp"
#include "vectis/memory/pool.hpp"

namespace vectis::test {
namespace {

using testing::HasSubstr;

class GraphOnDevice : public EveryGraphDevice {
 protected:
  // Building on lavapipe is slow.
  static std::string build_device() { return GetParam() == "webgpu" ? "cpu" : GetParam(); }

  std::unique_ptr<Index> moved(const Index& index, const std::string& where) {
    MemoryWriter writer;
    index.save(writer);
    MemoryReader reader(writer.bytes());
    return load_index(reader, {.device = where, .runtime = &runtime()});
  }
};

TEST_P(GraphOnDevice, ReachesTheRequestedRecallAndFollowsChanges) {
  constexpr std::size_t rows = 2600;
  const Floats vectors = clustered_rows(random, rows, dim);
  auto index = make_index("graph", dim, Metric::l2, {.device = build_device(), .runtime = &runtime()});
  index->add(vectors);
  if (build_device() != GetParam()) index = moved(*index, GetParam());
  EXPECT_EQ(index->devices().devices.size(), 1U);
  BruteForce truth(dim, Metric::l2);
  truth.put_all(0, vectors);
  const Floats queries = clustered_rows(random, 200, dim);
  for (const double asked : {0.9, 0.98}) {
    Tally tally;
    expect_sound(*index, truth, queries, 10, {.recall = asked}, tally);
    EXPECT_GE(tally.recall(), asked - 0.03 - 0.3 * (1 - asked));
  }
  const SearchResult found = index->search(queries, 10);
  EXPECT_EQ(found.explanation().device, device(GetParam()).label());
  EXPECT_EQ(found.explanation().kernel, "graph_search");
  EXPECT_GT(found.explanation().rows_scanned, 200U * 10);
  EXPECT_GT(index->statistics().device_bytes, rows * dim * sizeof(float));

  Ids gone;
  for (std::uint64_t id = 0; id < 300; id += 2) gone.push_back(id);
  index->remove(gone);
  for (const std::uint64_t id : gone) truth.remove(id);
  const Floats more = clustered_rows(random, 40, dim);
  index->add(more);
  truth.put_all(rows, more);
  Tally tally;
  expect_sound(*index, truth, queries, 5, {}, tally);
  EXPECT_GE(tally.recall(), 0.9);
  // Each vector is its own nearest neighbor.
  const SearchResult itself = index->search(more, 1);
  std::size_t same = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    same += static_cast<std::size_t>(!itself[i].empty() && itself[i].front().id == rows + i);
  }
  EXPECT_GE(same, 38U);
}

// Short searches suffice on the host, which expands some rows in any case.
TEST_P(GraphOnDevice, ReachesTheRequestedRecallInSeparateClusters) {
  constexpr std::size_t rows = 3000;
  constexpr std::size_t clusters = 300;
  const Floats centers = random_rows(random, clusters, dim);
  const auto clustered = [&](std::size_t count) {
    Floats vectors = random_rows(random, count, dim);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t cluster = random.below(clusters);
      for (std::size_t j = 0; j < dim; ++j) vectors[i * dim + j] += 6 * centers[cluster * dim + j];
    }
    return vectors;
  };
  const Floats vectors = clustered(rows);
  auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime()});
  index->add(vectors);
  index = moved(*index, GetParam());
  BruteForce truth(dim, Metric::l2);
  truth.put_all(0, vectors);
  const Floats queries = clustered(200);
  for (const double asked : {0.5, 0.8, 0.9}) {
    Tally tally;
    expect_sound(*index, truth, queries, 10, {.recall = asked}, tally);
    EXPECT_GE(tally.recall(), asked - 0.05);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GraphOnDevice, testing::ValuesIn(graph_devices()), case_name);

// A graph built on a device can be loaded on any device.
TEST_F(GraphDevicesTest, FilesLoadOnAnyDevice) {
  const Floats vectors = clustered_rows(random, 2500, dim);
  const Floats queries = clustered_rows(random, 50, dim);
  const auto index = make_index("graph", dim, Metric::cosine, {.device = "failing", .runtime = &runtime()});
  const BruteForce truth = fill_index(*index, vectors);
  MemoryWriter writer;
  index->save(writer);
  for (const char* where : {"cpu", "failing"}) {
    MemoryReader reader(writer.bytes());
    const auto loaded = load_index(reader, {.device = where, .runtime = &runtime()});
    Tally tally;
    expect_sound(*loaded, truth, queries, 10, {}, tally);
    EXPECT_GE(tally.recall(), 0.9);
    EXPECT_THAT(loaded->search(queries, 10).explanation().device, HasSubstr(where));
  }
}

TEST_F(GraphDevicesTest, FilteredAndLargeSearchesRunOnTheHost) {
  const auto index = make_index("graph", dim, Metric::l2, {.device = "failing", .runtime = &runtime()});
  index->add(clustered_rows(random, 2100, dim));
  const Floats query = clustered_rows(random, 1, dim);
  const Ids words(33, 0x5555'5555'5555'5555);
  const IdFilter filter = IdFilter::bitmap(words);
  EXPECT_EQ(index->search(query, 10, {.filter = filter}).explanation().device, "cpu");
  EXPECT_EQ(index->search(query, 600).explanation().device, "cpu");
  EXPECT_THAT(index->search(query, 10).explanation().device, HasSubstr("failing"));
}

TEST_F(GraphDevicesTest, RejectsSeveralDevices) {
  EXPECT_ERROR((void)make_index("graph", dim, Metric::l2, {.device = "failing,failing", .runtime = &runtime()}),
               ErrorCode::unsupported, "'graph' searches on one device", "2 were named",
               "'failing,failing' was requested");
}

// Rows of the later epoch would take the places of those that the search may find.
TEST_F(GraphDevicesTest, ACopyOfALaterEpochDoesNotServeAnEarlierOne) {
  graph::GraphStore store(runtime().executor(), Metric::l2, dim, {});
  store.add(clustered_rows(random, 600, dim), {});
  const auto before = store.now();
  store.add(Floats(300 * dim, 50.0F), {});
  const auto after = store.now();
  graph::DeviceGraphSearcher searcher(runtime(), device("failing"));
  const Floats query(dim, 50.0F);
  graph::RowLists found;
  const graph::BeamParams beam{.k = 10, .epsilon = 1.1F, .width = 32};
  EXPECT_TRUE(searcher.search(*before, beam, query, found));
  EXPECT_TRUE(searcher.search(*after, beam, query, found));
  EXPECT_EQ(searcher.search(*before, beam, query, found), std::nullopt);
  EXPECT_TRUE(searcher.search(*after, beam, query, found));
}

TEST_F(GraphDevicesTest, SearchesBesideALargeAddFindTheVectorsOfBefore) {
  constexpr std::size_t rows = 2100;
  const auto index = make_index("graph", dim, Metric::l2, {.device = "failing", .runtime = &runtime()});
  index->add(clustered_rows(random, rows, dim));
  const Floats query(dim, 100.5F);
  const auto expect_old_hits = [&] {
    const SearchResult found = index->search(query, 10, {.ef = 60});
    ASSERT_EQ(found[0].size(), 10U);
    for (const Hit& hit : found[0]) EXPECT_LT(hit.id, rows);
  };
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    expect_old_hits();
    if (progress.done > 400) source.cancel();
  });
  for (const std::size_t more : {200U, 900U}) {  // linked on the host, and on the device
    Floats near(more * dim);
    for (float& x : near) x = static_cast<float>(100 + random.unit());
    const Context stopping = more == 200 ? Context{}.with_progress([&](const Progress& progress) {
      if (progress.done < progress.total) expect_old_hits();
      if (progress.done == progress.total) throw 7;
    })
                                         : context;
    EXPECT_ANY_THROW(index->add(near, stopping));
    expect_old_hits();
  }
}

// An error of the device reaches the caller and leaves the index unchanged.
TEST_F(GraphDevicesTest, DeviceErrorsLeaveTheIndexUnchanged) {
  const auto index = make_index("graph", dim, Metric::l2, {.device = "failing", .runtime = &runtime()});
  const Floats vectors = clustered_rows(random, 4400, dim);
  const Floats queries = clustered_rows(random, 20, dim);
  const std::size_t half = 2200 * dim;
  index->add(std::span(vectors).first(half));
  BruteForce truth(dim, Metric::l2);
  truth.put_all(0, std::span(vectors).first(half));
  for (const char* call : {"copy_to_device 2", "copy_to_host 3", "stream_synchronize 9", "run_op 12", "run_op 1"}) {
    SCOPED_TRACE(call);
    registry().configure("failing", "fail", std::string(call) + " driver_failure");
    EXPECT_ERROR(index->add(std::span(vectors).subspan(half)), ErrorCode::driver_failure, "failing");
    registry().configure("failing", "reset", "");
    Tally tally;
    expect_sound(*index, truth, queries, 10, {}, tally);
    EXPECT_GE(tally.recall(), 0.85);
    registry().configure("failing", "fail", "run_op 1 driver_failure");
    // A beam that the caller chose: after a failed add the host scans until the next calibration.
    EXPECT_ERROR((void)index->search(queries, 10, {.ef = 40}), ErrorCode::driver_failure, "failing");
    registry().configure("failing", "reset", "");
  }
  index->add(std::span(vectors).subspan(half));
  truth.put_all(2200, std::span(vectors).subspan(half));
  Tally tally;
  expect_sound(*index, truth, queries, 10, {}, tally);
  EXPECT_GE(tally.recall(), 0.85);
}

TEST_F(GraphDevicesTest, OutOfMemoryLeavesTheIndexUnchanged) {
  const auto index = make_index("graph", dim, Metric::l2, {.device = "failing", .runtime = &runtime()});
  ASSERT_TRUE(memory_pool(runtime()).set_max_pool_size(device("failing").id(), std::uint64_t{1} << 16U));
  EXPECT_THROW(index->add(clustered_rows(random, 4000, dim)), OutOfMemoryError);
  EXPECT_EQ(index->size(), 0U);
}

}  // namespace
}  // namespace vectis::test
