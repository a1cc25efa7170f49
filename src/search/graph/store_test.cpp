// The graph store: progress and cancellation of inserts, and calibration searches against single searches.
#include "search/graph/store.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/approximate.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

class GraphStoreTest : public testing::Test {
 protected:
  static constexpr std::size_t dim = 16;

  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
  GraphStore store{*executor, Metric::l2, dim, {}};
};

TEST_F(GraphStoreTest, ReportsProgressInRows) {
  std::vector<Progress> reports;
  const Context context = Context{}.with_progress([&](const Progress& progress) {
    EXPECT_EQ(progress.operation, "add");
    reports.push_back(progress);
  });
  store.add(test::clustered_rows(random, 3000, dim), context);  // enough to be calibrated
  ASSERT_GT(reports.size(), 10U);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].total, 3000U);
    EXPECT_GT(reports[i].done, i == 0 ? 0 : reports[i - 1].done);
  }
  EXPECT_EQ(reports.back().done, 3000U);
}

TEST_F(GraphStoreTest, CancelledInsertsChangeNothing) {
  const test::Floats vectors = test::clustered_rows(random, 1200, dim);
  store.add(vectors, {});
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    if (progress.done > 500) source.cancel();
  });
  EXPECT_ERROR(store.add(test::clustered_rows(random, 2000, dim), context), ErrorCode::cancelled, "[add]");
  EXPECT_EQ(store.now()->live, 1200U);
  EXPECT_EQ(store.get(1200), std::nullopt);
  EXPECT_EQ(store.add(vectors, {}), 1200U);  // the ids were not used up
  EXPECT_EQ(store.now()->live, 2400U);
  EXPECT_EQ(store.get(1200), store.get(0));
}

// The rows of a failed insert are counted at once, and the next insert reuses them.
TEST_F(GraphStoreTest, FailedInsertsAreCountedAndReclaimed) {
  store.add(test::clustered_rows(random, 2000, dim), {});
  const std::uint64_t bytes = store.now()->bytes();
  for (int round = 0; round < 4; ++round) {
    CancelSource source;
    const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
      if (progress.done > 500) source.cancel();
    });
    EXPECT_ERROR(store.add(test::clustered_rows(random, 1000, dim), context), ErrorCode::cancelled, "[add]");
    EXPECT_EQ(store.now()->live, 2000U);
    EXPECT_EQ(store.now()->removed, 1000U) << "in round " << round;
    EXPECT_GT(store.now()->bytes(), bytes);
  }
  store.compact({});
  EXPECT_EQ(store.now()->rows, 2000U);
}

// Once rows are removed, a Context can only stop the consolidation of their tombstones, which a later change repeats.
TEST_F(GraphStoreTest, AStoppedConsolidationDoesNotUndoARemoval) {
  store.add(test::clustered_rows(random, 2000, dim), {});
  std::vector<std::uint64_t> ids(500);
  std::iota(ids.begin(), ids.end(), 0);
  const std::uint64_t epoch = store.now()->number;
  CancelSource source;
  const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
    EXPECT_EQ(progress.operation, "remove");
    EXPECT_EQ(progress.done, 500U);
    EXPECT_EQ(progress.total, 500U);
    source.cancel();
  });
  EXPECT_EQ(store.remove(ids, context), 500U);
  EXPECT_EQ(store.now()->live, 1500U);
  EXPECT_EQ(store.now()->number, epoch + 1) << "the epoch of the removal, none of a consolidation";
  EXPECT_EQ(store.remove(std::vector<std::uint64_t>{500}, {}), 1U);
  EXPECT_EQ(store.now()->number, epoch + 4) << "epochs of the removal, the consolidation and the calibration";
}

TEST_F(GraphStoreTest, AnEmptiedStoreIsTrainedOnWhatIsAddedNext) {
  const auto exponent = [&] { return store.now()->storage->graph.encoding.projection.exponent; };
  test::Floats vectors = test::clustered_rows(random, 300, dim);
  store.add(vectors, {});
  const int before = exponent();
  std::vector<std::uint64_t> ids(300);
  std::iota(ids.begin(), ids.end(), 0);
  EXPECT_EQ(store.remove(ids, {}), 300U);
  for (float& x : vectors) x *= 0x1p30F;
  EXPECT_EQ(store.add(vectors, {}), 300U);
  EXPECT_EQ(exponent(), before + 30);
  EXPECT_EQ(store.get(305), (std::vector<float>(vectors.begin() + 5 * dim, vectors.begin() + 6 * dim)));
}

TEST_F(GraphStoreTest, VectorsAddedWithoutFullPrecisionAreRounded) {
  store.add(test::clustered_rows(random, 300, dim), {});
  store.drop_full_precision({});
  const test::Floats vectors = test::clustered_rows(random, 20, dim);
  store.add(vectors, {});
  EXPECT_FALSE(store.now()->storage->vectors.full_precision());
  const auto [min, max] = std::ranges::minmax(std::span(vectors).first(dim));
  const auto stored = store.get(300);
  ASSERT_TRUE(stored);
  for (std::size_t i = 0; i < dim; ++i) EXPECT_NEAR((*stored)[i], vectors[i], (max - min) / 500);
}

// A search of an earlier epoch must not look ids up in the table of a later one: their rows are not visible to it.
TEST_F(GraphStoreTest, RowsOfIdsAreThoseOfTheEpoch) {
  store.add(test::clustered_rows(random, 100, dim), {});
  const std::vector<std::uint64_t> id{5};
  const IdFilter filter = IdFilter::sorted_list(id);
  const auto expect_present = [&] {
    const auto now = store.now();
    const auto rows = store.rows_of(filter, *now);
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->size(), 1U);
    EXPECT_TRUE(now->storage->versions.visible(rows->front(), now->number));
    EXPECT_EQ(now->storage->versions.id(rows->front()), 5U);
  };
  expect_present();
  const auto before = store.now();
  store.upsert(id, test::clustered_rows(random, 1, dim), {});
  EXPECT_EQ(store.rows_of(filter, *before), std::nullopt);
  expect_present();
  const auto replaced = store.now();
  EXPECT_EQ(store.remove(id, {}), 1U);
  EXPECT_EQ(store.rows_of(filter, *replaced), std::nullopt);
  EXPECT_EQ(store.rows_of(filter, *store.now()), std::vector<Slot>{});
  store.add(id, test::clustered_rows(random, 1, dim), {});
  store.compact({});
  expect_present();
}

// A search with a smaller epsilon is a prefix of one with a larger epsilon, so one search measures all of them.
TEST_F(GraphStoreTest, OneSearchEqualsSearchesWithEachEpsilon) {
  store.add(test::clustered_rows(random, 3000, dim), {});
  const auto now = store.now();
  const Graph& graph = now->storage->graph;
  const auto visible = [&](Slot slot) { return slot % 7 != 0; };
  const std::vector<float> epsilons{0.8F, 0.9F, 1.0F, 1.05F, 1.2F};
  SearchScratch scratch(graph);
  std::vector<SearchStop> stops;
  for (std::size_t query = 0; query < 50; ++query) {
    const test::Floats vector = test::clustered_rows(random, 1, dim);
    scratch.query.set_vector(graph.encoding, vector.data());
    BeamParams beam = beam_for({}, calibrated_k);
    beam.exact_visited = query % 2 == 0;
    beam.skipped = static_cast<Slot>(query);
    if (query % 5 == 0) beam.scores_max = 300;
    scratch.scored = 0;
    beam_search_at_epsilons(graph, now->entry_points, beam, epsilons, visible, scratch, stops);
    ASSERT_EQ(stops.size(), epsilons.size());
    for (std::size_t i = 0; i < epsilons.size(); ++i) {
      beam.epsilon = epsilons[i];
      scratch.scored = 0;
      const bool finished = beam_search_visible(graph, now->entry_points, beam, visible, scratch);
      EXPECT_EQ(finished, !stops[i].gave_up) << epsilons[i];
      EXPECT_EQ(scratch.scored, stops[i].scored) << epsilons[i];
      EXPECT_TRUE(!finished || std::ranges::equal(scratch.best.sorted(), stops[i].best)) << epsilons[i];
    }
  }
}

// A wider beam expands more rows and finds more.
TEST_F(GraphStoreTest, WiderBeamsScoreMoreRows) {
  store.add(test::clustered_rows(random, 3000, dim), {});
  const auto now = store.now();
  SearchScratch scratch(now->storage->graph);
  const test::Floats vector = test::clustered_rows(random, 1, dim);
  scratch.query.set_vector(now->storage->graph.encoding, vector.data());
  std::uint64_t last = 0;
  for (const std::size_t ef : {10U, 40U, 200U}) {
    const SearchParams params{.storage = now->storage.get(),
                              .entry_points = now->entry_points,
                              .epoch = now->number,
                              .rows = now->rows,
                              .k = 10,
                              .beam = beam_for_ef(10, ef)};
    scratch.scored = 0;
    std::vector<Hit> hits;
    ASSERT_TRUE(search_graph(params, vector.data(), scratch, hits));
    EXPECT_EQ(hits.size(), 10U);
    EXPECT_GT(scratch.scored, last);
    last = scratch.scored;
  }
}

}  // namespace
}  // namespace vectis::graph
