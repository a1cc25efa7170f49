// RobustPrune: which of many near rows a row is linked to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/graph/storage.hpp"
#include "search/graph/top_k.hpp"

namespace vectis::inline v0_1::graph {

// Buffers of robust_prune and its result. Not thread-safe.
struct PruneScratch {
  explicit PruneScratch(const Graph& graph) : query(graph.encoding.quantizer) {}

  QuantizedQuery query;
  std::vector<Neighbor> candidates;
  std::vector<Neighbor> remaining;
  std::vector<Slot> slots;
  std::vector<const std::byte*> rows;
  std::vector<float> scores;
  std::vector<Slot> chosen;  // the result, nearest first
};

// RobustPrune (Vamana: Subramanya et al., "DiskANN", 2019). Repeatedly chooses the nearest remaining candidate and
// drops every candidate that is alpha times nearer to the chosen one than to the row, until `count` are chosen.
// Candidates carry their squared distance to the row as score, in any order, each once. Leaves the result in
// scratch.chosen.
// Computes at most `count` distances per candidate, by codes.
void robust_prune(const Graph& graph, std::span<const Neighbor> candidates, std::size_t count, PruneScratch& scratch);

// The same for candidates whose distances to `row` are not computed yet.
void robust_prune_slots(const Graph& graph, Slot row, std::span<const Slot> candidates, std::size_t count,
                        PruneScratch& scratch);

// Writes the squared distances from `row` to scratch.slots, by codes, to scratch.scores.
void distances_from_row(const Graph& graph, Slot row, PruneScratch& scratch);

}  // namespace vectis::inline v0_1::graph
