// RobustPrune: which of many near rows a row is linked to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/graph/storage.hpp"
#include "search/graph/top_k.hpp"

namespace vectis::inline v0_1::graph {

// The buffers and the result of robust_prune, for one graph. Made once per thread and reused. Not thread-safe.
struct PruneScratch {
  // Allocates the query for the quantizer of `graph`. Throws std::bad_alloc when memory is exhausted.
  explicit PruneScratch(const Graph& graph) : query(graph.encoding.quantizer) {}

  QuantizedQuery query;
  std::vector<Neighbor> candidates;
  std::vector<Neighbor> remaining;
  std::vector<Slot> slots;
  std::vector<const std::byte*> rows;
  std::vector<float> scores;
  std::vector<Slot> chosen;  // the result, nearest first
  std::uint64_t scored = 0;  // rows compared by code, so far
};

// Chooses at most `count` diverse neighbors of a row by RobustPrune (Vamana: Subramanya et al., "DiskANN", 2019) and
// leaves them in scratch.chosen: repeatedly takes the nearest remaining candidate and drops every candidate that is
// alpha times nearer to it than to the row. Candidates must have their squared distance to the row as score and occur
// once, in any order. Throws std::bad_alloc when memory is exhausted.
void robust_prune(const Graph& graph, std::span<const Neighbor> candidates, std::size_t count, PruneScratch& scratch);

// Chooses at most `count` diverse neighbors of `row` among the slots `candidates` by RobustPrune and leaves them in
// scratch.chosen; computes their distances to `row` by codes. Candidates must occur once and must not contain `row`,
// not checked. Throws std::bad_alloc when memory is exhausted.
void robust_prune_slots(const Graph& graph, Slot row, std::span<const Slot> candidates, std::size_t count,
                        PruneScratch& scratch);

// Computes the squared distances from `row` to each of scratch.slots by codes, and writes them to scratch.scores. All
// slots must be encoded, not checked. Overwrites scratch.query and scratch.rows. Throws std::bad_alloc.
void distances_from_row(const Graph& graph, Slot row, PruneScratch& scratch);

}  // namespace vectis::inline v0_1::graph
