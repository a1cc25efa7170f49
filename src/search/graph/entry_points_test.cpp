// Where searches start: near their queries, whatever clusters the rows have and in whatever order they were added.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/error.hpp"

namespace vectis::graph {
namespace {

class EntryPointsTest : public testing::Test {
 protected:
  static constexpr std::size_t dim = 32;
  static constexpr std::size_t clusters = 400;

  // A row of a cluster far from the others.
  [[nodiscard]] test::Floats row_of(std::size_t cluster) {
    test::Floats row(centers.begin() + static_cast<std::ptrdiff_t>(cluster * dim),
                     centers.begin() + static_cast<std::ptrdiff_t>((cluster + 1) * dim));
    for (float& value : row) value += static_cast<float>(random.unit() - 0.5);
    return row;
  }
  // `count` rows of the clusters from `first` to `last`.
  [[nodiscard]] test::Floats rows_of(std::size_t first, std::size_t last, std::size_t count) {
    test::Floats rows;
    for (std::size_t i = 0; i < count; ++i) {
      const test::Floats row = row_of(first + random.below(last - first + 1));
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }
  // How many entry points are rows with the id `first` or a later one.
  [[nodiscard]] std::size_t entry_points_from(std::uint64_t first) const {
    const auto now = store.now();
    return static_cast<std::size_t>(
        std::ranges::count_if(now->entry_points, [&](Slot slot) { return now->storage->versions.id(slot) >= first; }));
  }
  // The cluster with number c has about 1 / (c + 1) of the rows of the first.
  [[nodiscard]] std::size_t skewed_cluster() {
    return std::min(clusters - 1, static_cast<std::size_t>(std::pow(double{clusters}, random.unit())) - 1);
  }

  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
  GraphStore store{*executor, Metric::l2, dim, {}};
  test::Floats centers = [this] {
    test::Floats values(clusters * dim);
    for (float& value : values) value = static_cast<float>(3 * random.unit());
    return values;
  }();
};

TEST_F(EntryPointsTest, LieInClustersThatWereAddedLater) {
  constexpr std::size_t added = 40;
  constexpr std::size_t rows_each = 200;
  for (std::size_t cluster = 0; cluster < added; ++cluster) {
    test::Floats rows;
    for (std::size_t i = 0; i < rows_each; ++i) {
      const test::Floats row = row_of(cluster);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    store.add(rows, {});
  }
  const auto now = store.now();
  std::set<std::uint64_t> reached;
  for (const Slot slot : now->entry_points) reached.insert(now->storage->versions.id(slot) / rows_each);
  EXPECT_EQ(now->entry_points.size(), entry_points_max);
  EXPECT_EQ(std::set(now->entry_points.begin(), now->entry_points.end()).size(), entry_points_max);
  EXPECT_GT(reached.size(), added / 2) << "chosen anew at least when the rows doubled";
}

TEST_F(EntryPointsTest, LieInClustersThatReplaceRemovedOnes) {
  constexpr std::size_t before = 4000;
  store.add(rows_of(0, 0, before), {});
  std::vector<std::uint64_t> removed(before * 9 / 10);
  std::iota(removed.begin(), removed.end(), std::uint64_t{0});
  store.remove(removed, {});
  for (std::size_t i = 0; i < 9; ++i) store.add(rows_of(1, 40, before / 10), {});
  EXPECT_GT(entry_points_from(before), entry_points_max / 2) << "they were chosen from the rows that were left";
}

// A store that outgrows its encoding is replaced as a whole, and put back when the insertion stops; another one keeps
// the rows that were inserted as tombstones.
TEST_F(EntryPointsTest, AreThoseOfBeforeAfterAnInsertionThatStopped) {
  for (const std::size_t added : {300U, 3000U}) {
    SCOPED_TRACE(added);
    store.add(rows_of(0, 0, 400), {});
    const std::uint64_t first = store.now()->live;
    const std::vector<Slot> entry_points = store.now()->entry_points;
    const test::Floats rows = rows_of(1, 40, added);
    const CancelSource source;
    const Context context = Context{}.with_cancel(source).with_progress([&](const Progress& progress) {
      if (progress.done == added) CancelSource(source).cancel();
    });
    EXPECT_THROW(store.add(rows, context), Error);
    EXPECT_EQ(store.now()->entry_points, entry_points);
    store.add(rows, {});
    if (store.now()->live >= 2 * first) {
      EXPECT_GT(entry_points_from(first), entry_points_max / 2) << "chosen anew when the rows doubled";
    }
  }
}

// Entry points without links would end searches that begin there.
TEST_F(EntryPointsTest, OfAFewRowsAreThoseOfBeforeAfterAnInsertionThatStopped) {
  store.add(rows_of(0, 0, 100), {});
  const std::vector<Slot> entry_points = store.now()->entry_points;
  const Context context = Context{}.with_progress([](const Progress&) { throw std::runtime_error("stop"); });
  EXPECT_THROW(store.add(rows_of(1, 1, 60), context), std::runtime_error);
  EXPECT_EQ(store.now()->entry_points, entry_points);
}

TEST_F(EntryPointsTest, SearchesReachTheClusterOfTheirQuery) {
  constexpr std::size_t count = 20'000;
  constexpr std::size_t searches = 1000;
  std::vector<std::size_t> cluster_of(count);
  test::Floats rows;
  for (std::size_t& cluster : cluster_of) {
    cluster = skewed_cluster();
    const test::Floats row = row_of(cluster);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  store.add(rows, {});
  const auto now = store.now();
  const SearchParams params{.storage = now->storage.get(),
                            .entry_points = now->entry_points,
                            .epoch = now->number,
                            .rows = now->rows,
                            .k = 1,
                            .beam = beam_for_ef(1, 1)};
  SearchScratch scratch(now->storage->graph);
  std::size_t reached = 0;
  for (std::size_t i = 0; i < searches; ++i) {
    const std::size_t cluster = skewed_cluster();
    const test::Floats query = row_of(cluster);
    scratch.query.set_vector(now->storage->graph.encoding, query.data());
    std::vector<Hit> hits;
    ASSERT_TRUE(search_graph(params, query.data(), scratch, hits));
    if (cluster_of[hits.front().id] == cluster) ++reached;
  }
  EXPECT_GE(static_cast<double>(reached), 0.88 * searches) << "the narrowest beam; from 16 entry points 0.6 to 0.72";
}

}  // namespace
}  // namespace vectis::graph
