#include "search/graph/prune.hpp"

#include <algorithm>

namespace vectis::inline v0_1::graph {

void distances_from(const Graph& graph, Slot from, std::span<const Slot> slots, Pruner& pruner, float* distances) {
  pruner.query.set_row(graph.frame, graph.codes[from]);
  graph.score_rows(graph.frame, graph.codes, pruner.query, slots.data(), slots.size(), distances);
  for (std::size_t i = 0; i < slots.size(); ++i) distances[i] += pruner.query.square();
}

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
    pruner.scores.resize(rest);
    for (std::size_t i = 0; i < rest; ++i) pruner.slots[i] = pruner.left[begin + i].slot;
    distances_from(graph, best, pruner.slots, pruner, pruner.scores.data());
    std::size_t end = begin;
    for (std::size_t i = 0; i < rest; ++i) {
      const Neighbour& other = pruner.left[begin + i];
      if (pruner.scores[i] * reach > other.distance) pruner.left[end++] = other;
    }
    pruner.left.resize(end);
  }
}

}  // namespace vectis::inline v0_1::graph
