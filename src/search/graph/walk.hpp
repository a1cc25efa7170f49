// Best-first search over the graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "search/graph/graph.hpp"
#include "search/graph/pool.hpp"

namespace vectis::inline v0_1::graph {

// What a walk needs beside the graph; made once for a thread. One thread at a time.
struct Walker {
  explicit Walker(const Graph& graph);

  CodedQuery query;
  Pool pool;
  Met met;
  std::vector<Slot> fresh;    // rows met for the first time in this step
  std::vector<float> scores;  // theirs
  std::vector<Slot> neighbours;
  std::vector<Place> frontier;  // of walk_allowed: a heap, nearest first
  std::vector<float> decoded;
  std::uint64_t scored = 0;  // rows, of all walks so far
};

// Leaves the `width` best rows found for walker.query in walker.pool, beginning at `entries`.
void walk(const Graph& graph, std::span<const Slot> entries, std::size_t width, Walker& walker);

// As walk, but walker.pool takes only rows that are allowed, and the walk goes on past all others until the pool is
// full and nothing nearer is left. False when that took more than `scored_max` scores.
bool walk_allowed(const Graph& graph, std::span<const Slot> entries, std::size_t width, std::uint64_t scored_max,
                  const std::function<bool(Slot)>& allowed, Walker& walker);

}  // namespace vectis::inline v0_1::graph
