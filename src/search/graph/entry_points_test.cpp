// Where searches start: near their queries, whatever clusters the rows have and in whatever order they were added.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"

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
