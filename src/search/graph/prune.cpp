#include "search/graph/prune.hpp"

#include <algorithm>

namespace vectis::inline v0_1::graph {

void distances_from_row(const Graph& graph, Slot row, PruneScratch& scratch) {
  scratch.query.set_row(graph.encoding.quantizer, graph.codes[row]);
  scratch.rows.resize(scratch.slots.size());
  scratch.scores.resize(scratch.slots.size());
  for (std::size_t i = 0; i < scratch.slots.size(); ++i) scratch.rows[i] = graph.codes[scratch.slots[i]];
  graph.score_rows(graph.encoding.quantizer, scratch.query, scratch.rows.data(), scratch.rows.size(),
                   scratch.scores.data());
  scratch.scored += scratch.rows.size();
  for (float& score : scratch.scores) score += scratch.query.squared_norm();
}

void robust_prune(const Graph& graph, std::span<const Neighbor> candidates, std::size_t count, PruneScratch& scratch) {
  const float alpha_squared = graph.params.alpha * graph.params.alpha;  // distances are squared
  scratch.remaining.assign(candidates.begin(), candidates.end());
  std::sort(scratch.remaining.begin(), scratch.remaining.end());
  scratch.chosen.clear();
  std::size_t begin = 0;
  while (begin < scratch.remaining.size() && scratch.chosen.size() < count) {
    const Slot nearest = scratch.remaining[begin++].slot();
    scratch.chosen.push_back(nearest);
    const std::size_t rest = scratch.remaining.size() - begin;
    if (rest == 0 || scratch.chosen.size() == count) break;
    scratch.slots.resize(rest);
    for (std::size_t i = 0; i < rest; ++i) scratch.slots[i] = scratch.remaining[begin + i].slot();
    distances_from_row(graph, nearest, scratch);
    std::size_t end = begin;
    for (std::size_t i = 0; i < rest; ++i) {
      const Neighbor other = scratch.remaining[begin + i];
      if (scratch.scores[i] * alpha_squared > other.score()) scratch.remaining[end++] = other;
    }
    scratch.remaining.resize(end);
  }
}

void robust_prune_slots(const Graph& graph, Slot row, std::span<const Slot> candidates, std::size_t count,
                        PruneScratch& scratch) {
  scratch.slots.assign(candidates.begin(), candidates.end());
  distances_from_row(graph, row, scratch);
  scratch.candidates.clear();
  for (std::size_t i = 0; i < candidates.size(); ++i) scratch.candidates.emplace_back(scratch.scores[i], candidates[i]);
  robust_prune(graph, scratch.candidates, count, scratch);
}

}  // namespace vectis::inline v0_1::graph
