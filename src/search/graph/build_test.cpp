// Consolidation of tombstones: links around removed rows, at bounded cost.
#include "search/graph/build.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

namespace vectis::graph {
namespace {

// Row 0 is linked to the live row 1 and to a removed region: tombstones from 2 on, each linked to the following ones.
class RemovedRegionTest : public testing::Test {
 protected:
  static constexpr std::size_t rows = 6000;
  static constexpr std::size_t degree = 8;

  RemovedRegionTest() {
    graph.codes.reserve(rows);
    graph.links.reserve(rows);
    for (Slot slot = 0; slot < rows; ++slot) {
      const float vector[2] = {static_cast<float>(slot), 1};
      encode_row(graph.encoding, vector, graph.codes[slot]);
      std::vector<Slot> links;
      for (Slot next = slot + 1; next < rows && links.size() < degree; ++next) links.push_back(next);
      graph.links.write(slot, links);
    }
  }

  // Consolidates row 0 and returns its links; `live` are the only rows that are no tombstones.
  std::vector<Slot> consolidate(std::vector<Slot> live) {
    consolidate_deletes(*executor, graph, std::vector<Slot>{0}, [&](Slot slot) {
      ++tested;
      return std::find(live.begin(), live.end(), slot) == live.end();
    });
    std::vector<Slot> list(degree);
    list.resize(graph.links.read(0, list.data()));
    return list;
  }

  std::shared_ptr<Executor> executor = make_thread_executor({.threads = 1});
  Graph graph{make_encoding(Metric::l2, 2), {.degree = degree, .pruned_degree = degree}, 2};
  std::atomic<std::size_t> tested = 0;  // rows that were tested for a tombstone
};

TEST_F(RemovedRegionTest, IsNotReadAsAWholeForEachRowBesideIt) {
  EXPECT_EQ(consolidate({0, 1}), std::vector<Slot>{1});
  EXPECT_LT(tested, 300U);
}

TEST_F(RemovedRegionTest, IsCrossedToTheFirstLiveRow) {
  EXPECT_EQ(consolidate({0, 5000}), std::vector<Slot>{5000}) << "a row must not lose all of its links";
}

}  // namespace
}  // namespace vectis::graph
