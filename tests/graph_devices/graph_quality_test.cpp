// Graphs that were built on a device are as good as those built on the host.
#include <cmath>
#include <iostream>

#include "search/graph/device.hpp"
#include "search/graph/search.hpp"
#include "search/graph/store.hpp"
#include "tests/graph_devices/fixture.hpp"

namespace vectis::test {
namespace {

struct SearchCost {
  double scored = 0;
  double recall = 0;
};

class GraphQuality : public EveryGraphDevice {
 protected:
  static constexpr std::size_t k = 10;

  void build_on(graph::GraphStore& store, const std::string& name) {
    store.set_link_rows([this, name](graph::GraphStorage& storage, std::size_t rows,
                                     std::span<const graph::Slot> entry_points, std::span<const graph::Slot> slots,
                                     std::size_t linked_rows, const graph::LinkProgress& progress) {
      graph::link_rows_on_device(runtime(), device(name), storage, rows, entry_points, slots, linked_rows, progress);
      rows_linked_on_device += slots.size();
    });
  }

  // What searches with several epsilons cost and find, on the host.
  static std::vector<SearchCost> costs(const graph::GraphStore& store, const BruteForce& truth,
                                       std::span<const float> queries) {
    const auto now = store.now();
    std::vector<std::vector<Hit>> nearest;
    for (std::size_t at = 0; at < queries.size(); at += dim)
      nearest.push_back(truth.search(queries.subspan(at, dim), k));
    std::vector<SearchCost> result;
    graph::SearchScratch scratch(now->storage->graph);
    std::vector<Hit> hits;
    for (const float epsilon : {0.8F, 0.9F, 0.95F, 1.0F, 1.05F, 1.1F, 1.2F}) {
      const graph::SearchParams params{.storage = now->storage.get(),
                                       .entry_points = now->entry_points,
                                       .epoch = now->number,
                                       .rows = now->rows,
                                       .no_tombstones = true,
                                       .k = k,
                                       .beam = graph::beam_for({.epsilon = epsilon}, k)};
      scratch.scored = 0;
      std::size_t found = 0;
      for (std::size_t i = 0; i < nearest.size(); ++i) {
        scratch.query.set_vector(now->storage->graph.encoding, queries.data() + i * dim);
        EXPECT_TRUE(graph::search_graph(params, queries.data() + i * dim, scratch, hits));
        for (const Hit& hit : hits) found += static_cast<std::size_t>(hit.distance <= nearest[i].back().distance);
      }
      const auto count = static_cast<double>(nearest.size());
      result.push_back({static_cast<double>(scratch.scored) / count, static_cast<double>(found) / (count * k)});
    }
    return result;
  }

  // Interpolates `wanted` at the point where `known` is `value`.
  static double interpolated(const std::vector<SearchCost>& costs, double SearchCost::* known, double value,
                             double SearchCost::* wanted) {
    for (std::size_t i = 1; i < costs.size(); ++i) {
      const SearchCost& low = costs[i - 1];
      const SearchCost& high = costs[i];
      if (high.*known < value) continue;
      const double part = (value - low.*known) / (high.*known - low.*known);
      return low.*wanted + std::max(0.0, part) * (high.*wanted - low.*wanted);
    }
    return costs.back().*wanted;
  }

  static void expect_lists(const graph::GraphStore& store, std::size_t rows) {
    const auto now = store.now();
    const graph::AdjacencyLists& links = now->storage->graph.links;
    std::vector<graph::Slot> list(links.degree());
    for (graph::Slot slot = 0; slot < rows; ++slot) {
      const std::size_t length = links.read(slot, list.data());
      ASSERT_GT(length, 0U);
      ASSERT_LE(length, links.degree());
      std::sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_LT(list[length - 1], rows);
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_NE(list[i], slot);
        ASSERT_TRUE(i == 0 || list[i] != list[i - 1]);
      }
    }
  }

  std::size_t rows_linked_on_device = 0;
};

// Equal recall for equal work, except for chance: the work of graphs this small varies by up to a tenth.
TEST_P(GraphQuality, EqualsThatOfAHostBuiltGraph) {
  const bool native = GetParam() == "failing";
  const std::size_t rows = native ? 2400 : GetParam() == "webgpu" ? 900 : 1800;  // lavapipe is slow
  for (const Metric metric : {Metric::l2, Metric::cosine, Metric::inner_product}) {
    if (!native && metric != Metric::l2) continue;
    SCOPED_TRACE(name(metric));
    const Floats vectors = clustered_rows(random, rows, dim);
    const Floats queries = clustered_rows(random, 300, dim);
    BruteForce truth(dim, metric);
    truth.put_all(0, vectors);
    graph::GraphStore on_host(runtime().executor(), metric, dim, {});
    graph::GraphStore on_device(runtime().executor(), metric, dim, {});
    rows_linked_on_device = 0;
    build_on(on_device, GetParam());
    // In two batches, so that rows are also linked into an existing graph.
    const std::size_t first = rows / 3 * dim;
    for (graph::GraphStore* store : {&on_host, &on_device}) {
      store->add(std::span(vectors).first(first), {});
      store->add(std::span(vectors).subspan(first), {});
    }
    EXPECT_EQ(rows_linked_on_device, rows);
    expect_lists(on_device, rows);
    const std::vector<SearchCost> host_costs = costs(on_host, truth, queries);
    const std::vector<SearchCost> device_costs = costs(on_device, truth, queries);
    for (const SearchCost& one : host_costs) {
      const double recall = interpolated(device_costs, &SearchCost::scored, one.scored, &SearchCost::recall);
      const double scored = interpolated(device_costs, &SearchCost::recall, one.recall, &SearchCost::scored);
      std::cout << name(metric) << ": " << one.scored << " scored, recall " << one.recall << " on the host, " << recall
                << " on the device, where the same recall takes " << scored << '\n';
      // Compare work where recall is steep, and recall where it is flat.
      if (one.recall >= 0.98) {
        EXPECT_GE(recall, one.recall - 0.01 - 0.3 * (1 - one.recall));
      } else if (one.recall >= 0.9) {
        EXPECT_LE(scored, 1.2 * one.scored);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GraphQuality, testing::ValuesIn(graph_devices()), case_name);

}  // namespace
}  // namespace vectis::test
