#include "search/graph/prune.hpp"

#include <algorithm>

namespace vectis::inline v0_1::graph {

namespace {

// Squared distances from row `from` to pruner.slots, into pruner.scores.
void measure_from(const Graph& graph, Slot from, Pruner& pruner) {
  pruner.query.set_row(graph.frame, graph.codes[from]);
  pruner.rows.resize(pruner.slots.size());
  pruner.scores.resize(pruner.slots.size());
  for (std::size_t i = 0; i < pruner.slots.size(); ++i) pruner.rows[i] = graph.codes[pruner.slots[i]];
  graph.score_rows(graph.frame, pruner.query, pruner.rows.data(), pruner.rows.size(), pruner.scores.data());
  for (float& score : pruner.scores) score += pruner.query.square();
}

}  // namespace

void prune(const Graph& graph, std::span<const Neighbour> candidates, std::size_t count, Pruner& pruner) {
  const float reach = graph.shape.reach * graph.shape.reach;
  pruner.left.assign(candidates.begin(), candidates.end());
  std::sort(pruner.left.begin(), pruner.left.end());
  pruner.chosen.clear();
  std::size_t begin = 0;
  while (begin < pruner.left.size() && pruner.chosen.size() < count) {
    const Slot best = pruner.left[begin++].slot;
    pruner.chosen.push_back(best);
    const std::size_t rest = pruner.left.size() - begin;
    if (rest == 0 || pruner.chosen.size() == count) break;
    pruner.slots.resize(rest);
    for (std::size_t i = 0; i < rest; ++i) pruner.slots[i] = pruner.left[begin + i].slot;
    measure_from(graph, best, pruner);
    std::size_t end = begin;
    for (std::size_t i = 0; i < rest; ++i) {
      const Neighbour& other = pruner.left[begin + i];
      if (pruner.scores[i] * reach > other.distance) pruner.left[end++] = other;
    }
    pruner.left.resize(end);
  }
}

void prune_rows(const Graph& graph, Slot from, std::span<const Slot> candidates, std::size_t count, Pruner& pruner) {
  pruner.slots.assign(candidates.begin(), candidates.end());
  measure_from(graph, from, pruner);
  pruner.near.clear();
  for (std::size_t i = 0; i < candidates.size(); ++i) pruner.near.push_back({pruner.scores[i], candidates[i]});
  prune(graph, pruner.near, count, pruner);
}

}  // namespace vectis::inline v0_1::graph
