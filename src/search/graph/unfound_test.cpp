// Rows that lost the links to them are found again by searches for their own vectors.
#include "search/graph/unfound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "search/graph/beam_search.hpp"
#include "search/graph/store.hpp"
#include "tests/support/approximate.hpp"
#include "tests/support/seed.hpp"

namespace vectis::graph {
namespace {

constexpr std::size_t unfound_dim = 24;
constexpr BeamParams unfound_beam{.k = 10, .epsilon = 0.5F, .width = 10};

class UnfoundTest : public testing::Test {
 protected:
  // Builds a graph of clustered rows, and removes all links to each tenth of them.
  void build(std::size_t rows, const GraphParams& params) {
    store = std::make_unique<GraphStore>(*executor, Metric::l2, unfound_dim, params);
    store->add(test::clustered_rows(random, rows, unfound_dim), {});
    const auto is_lost = [](Slot slot) { return slot % 10 == 3; };
    std::vector<Slot> list(params.degree);
    for (Slot row = 0; row < rows; ++row) {
      list.resize(params.degree);
      list.resize(graph().links.read(row, list.data()));
      std::erase_if(list, is_lost);
      graph().links.write(row, list);
      if (is_lost(row)) lost.push_back(row);
    }
  }
  [[nodiscard]] Graph& graph() const { return store->now()->storage->graph; }
  [[nodiscard]] std::vector<Slot> entry_points() const {
    std::vector<Slot> kept = store->now()->entry_points;
    std::erase_if(kept, [](Slot slot) { return slot % 10 == 3; });
    return kept;
  }
  [[nodiscard]] bool finds(Slot row) const {
    SearchScratch scratch(graph());
    scratch.query.set_row(graph().encoding.quantizer, graph().codes[row]);
    beam_search(graph(), entry_points(), unfound_beam, scratch);
    return std::ranges::any_of(scratch.best.sorted(), [&](const Neighbor& one) { return one.slot() == row; });
  }
  [[nodiscard]] std::vector<std::vector<Slot>> lists() const {
    std::vector<std::vector<Slot>> all(store->now()->rows);
    for (Slot row = 0; row < all.size(); ++row) {
      all[row].resize(graph().links.degree());
      all[row].resize(graph().links.read(row, all[row].data()));
    }
    return all;
  }

  Random random{test::seed()};
  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 2});
  std::unique_ptr<GraphStore> store;
  std::vector<Slot> lost;
};

TEST_F(UnfoundTest, LinksRowsThatLostAllLinks) {
  build(5000, {});
  ASSERT_EQ(std::ranges::count_if(lost, [&](Slot row) { return finds(row); }), 0);
  // A row whose code is as near as those of ten others counts as found.
  EXPECT_GE(link_unfound(*executor, graph(), entry_points(), lost, {}), lost.size() - 5);
  // A link that is added may lead the search for another row astray.
  const auto found = std::ranges::count_if(lost, [&](Slot row) { return finds(row); });
  EXPECT_GE(static_cast<double>(found), 0.97 * static_cast<double>(lost.size()));
}

TEST_F(UnfoundTest, KeepsListsWithinTheDegreeAndWithoutRepeats) {
  build(3000, {.degree = 4, .pruned_degree = 4, .ef_construction = 32});
  link_unfound(*executor, graph(), entry_points(), lost, {});
  for (const std::vector<Slot>& list : lists()) {
    EXPECT_LE(list.size(), 4U);
    EXPECT_EQ(std::unordered_set<Slot>(list.begin(), list.end()).size(), list.size());
  }
}

// Of many equal rows a search expands only some, so that it may miss the links of those that it finds.
TEST_F(UnfoundTest, DoesNotRepeatLinksOfEqualRows) {
  constexpr std::size_t copies = 80;
  test::Floats rows(copies * unfound_dim);
  rows.resize((copies + 1) * unfound_dim, 0.1F);  // the last row is near them
  store = std::make_unique<GraphStore>(*executor, Metric::l2, unfound_dim, GraphParams{});
  store->add(rows, {});
  const auto link = [&](Slot from, Slot first, Slot last) {
    std::vector<Slot> list(last - first + 1);
    std::iota(list.begin(), list.end(), first);
    graph().links.write(from, list);
  };
  for (Slot row = 0; row <= copies; ++row) graph().links.write(row, {});
  link(79, 10, 30);
  link(10, 40, 65);  // more equal rows than a search expands
  link(11, 0, 2);    // found last, and first in order
  link(0, copies, copies);
  const std::vector<Slot> starts{79};
  const std::vector<Slot> searched{static_cast<Slot>(copies)};
  link_unfound(*executor, graph(), starts, searched, {});
  EXPECT_EQ(lists()[0], searched);
}

TEST_F(UnfoundTest, IsTheSameForAnyNumberOfThreads) {
  const std::uint64_t seed = test::seed();
  random = Random(seed);
  build(4000, {});
  link_unfound(*executor, graph(), entry_points(), lost, {});
  const std::vector<std::vector<Slot>> of_two = lists();
  random = Random(seed);
  lost.clear();
  executor = make_thread_executor({.threads = 1});
  build(4000, {});
  link_unfound(*executor, graph(), entry_points(), lost, {});
  EXPECT_EQ(lists(), of_two);
}

TEST_F(UnfoundTest, StopsWhenAskedTo) {
  build(1000, {});
  EXPECT_THROW(link_unfound(*executor, graph(), entry_points(), lost, [] { throw std::runtime_error("stop"); }),
               std::runtime_error);
}

TEST_F(UnfoundTest, DoesNothingWithoutRows) {
  build(100, {});
  EXPECT_EQ(link_unfound(*executor, graph(), entry_points(), {}, {}), 0U);
  EXPECT_EQ(link_unfound(*executor, graph(), {}, lost, {}), 0U);
}

}  // namespace
}  // namespace vectis::graph
