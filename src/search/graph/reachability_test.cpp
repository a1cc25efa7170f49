// Every row can be reached from the entry points after builds and changes, also where links alone do not lead to all.
#include "search/graph/reachability.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

constexpr std::size_t dim = 24;

class ReachabilityTest : public testing::Test {
 protected:
  [[nodiscard]] static std::size_t unreachable(const GraphStore& store) {
    const auto now = store.now();
    return unreachable_rows(now->storage->graph, now->entry_points, now->rows,
                            [&](Slot slot) { return now->storage->versions.visible(slot, now->number); })
        .size();
  }
  // Groups of rows that are almost equal, far from each other.
  test::Floats groups(std::size_t count, std::size_t rows) {
    const test::Floats centers = test::random_rows(random, count, dim);
    test::Floats vectors(rows * dim);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t group = random.below(count);
      for (std::size_t j = 0; j < dim; ++j) {
        vectors[i * dim + j] = 100 * centers[group * dim + j] + static_cast<float>(random.unit()) * 1e-3F;
      }
    }
    return vectors;
  }

  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
  GraphStore store{*executor, Metric::l2, dim, {}};
};

TEST_F(ReachabilityTest, HoldsAfterABuildOfSeparateGroups) {
  store.add(groups(200, 6000), {});
  EXPECT_EQ(unreachable(store), 0U);
}

TEST_F(ReachabilityTest, HoldsAfterABuildOfEqualVectors) {
  test::Floats vectors = test::clustered_rows(random, 4000, dim);
  for (std::size_t i = 1000; i < 4000; ++i) std::copy_n(vectors.data(), dim, vectors.data() + i * dim);
  store.add(vectors, {});
  EXPECT_EQ(unreachable(store), 0U);
}

TEST_F(ReachabilityTest, HoldsWhenAnEighthWasAddedAndAfterRemovals) {
  store.add(groups(50, 3000), {});
  for (int i = 0; i < 5; ++i) {
    store.add(groups(50, 1200), {});
    EXPECT_EQ(unreachable(store), 0U) << i;
  }
  for (std::uint64_t first = 0; first < 5000; first += 1000) {
    std::vector<std::uint64_t> ids(900);
    std::iota(ids.begin(), ids.end(), first);
    store.remove(ids, {});
    EXPECT_EQ(unreachable(store), 0U) << first;
  }
}

// Zero vectors are farther from each other than from others.
TEST_F(ReachabilityTest, HoldsForManyZeroVectorsUnderCosine) {
  GraphStore cosine(*executor, Metric::cosine, dim, {});
  test::Floats vectors = test::random_rows(random, 3000, dim);
  std::fill(vectors.begin() + 300 * dim, vectors.end(), 0.0F);
  cosine.add(vectors, {});
  EXPECT_EQ(unreachable(cosine), 0U);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < 3000; id += 10) ids.push_back(id);
  cosine.remove(ids, {});
  EXPECT_EQ(unreachable(cosine), 0U);
}

TEST_F(ReachabilityTest, HoldsWithFewLinks) {
  GraphStore small(*executor, Metric::l2, dim, {.degree = 4, .pruned_degree = 4, .ef_construction = 4});
  test::Floats vectors = test::random_rows(random, 3000, dim);
  for (std::size_t i = 0; i < 60 * dim; ++i) vectors[i] *= 0.1F;
  small.add(vectors, {});
  EXPECT_EQ(unreachable(small), 0U);
}

// Two rings without a link between them, and rows without any link.
TEST_F(ReachabilityTest, ConnectsRowsOfOtherComponents) {
  constexpr std::size_t rows = 400;
  store.add(test::random_rows(random, rows, dim), {});
  Graph& graph = store.now()->storage->graph;
  for (Slot slot = 0; slot < rows; ++slot) {
    const std::vector<Slot> next{slot < 200 ? (slot + 1) % 200 : 200 + (slot + 1) % 100};
    graph.links.write(slot, slot < 300 ? std::span<const Slot>(next) : std::span<const Slot>());
  }
  const std::vector<Slot> entry_points{0};
  const auto all = [](Slot) { return true; };
  ASSERT_EQ(unreachable_rows(graph, entry_points, rows, all).size(), 200U);
  std::size_t stops = 0;
  EXPECT_EQ(connect_unreachable(graph, entry_points, rows, all, [&] { ++stops; }), 101U);
  EXPECT_GT(stops, 0U);
  EXPECT_TRUE(unreachable_rows(graph, entry_points, rows, all).empty());
}

// Lists without room: a link is given up, of a row that others link to.
TEST_F(ReachabilityTest, ConnectsRowsWhereAllListsAreFull) {
  constexpr std::size_t rows = 300;
  store.add(test::random_rows(random, rows, dim), {});
  Graph& graph = store.now()->storage->graph;
  const std::size_t degree = graph.links.degree();
  for (Slot slot = 0; slot < rows; ++slot) {
    std::vector<Slot> links;
    for (std::size_t i = 1; i <= degree; ++i) links.push_back(static_cast<Slot>((slot + i) % 250));
    graph.links.write(slot, links);
  }
  const std::vector<Slot> entry_points{0};
  const auto all = [](Slot) { return true; };
  EXPECT_EQ(connect_unreachable(graph, entry_points, rows, all, {}), 50U);
  EXPECT_TRUE(unreachable_rows(graph, entry_points, rows, all).empty());
}

}  // namespace
}  // namespace vectis::graph
