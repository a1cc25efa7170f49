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

// When a walk has seen enough: nothing is left to visit that is nearer than `slack` times the distance of the best
// number `nearest`. So a walk goes on for long where many rows are about as far as the best, and ends soon where few
// are.
struct Effort {
  std::size_t nearest = 10;
  float slack = 1;
  std::size_t kept = 32;    // at least so many of the best rows are wanted, however far they are
  std::size_t width = 512;  // and at most so many are remembered
};

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

// Leaves the best rows found for walker.query in walker.pool, beginning at `entries`.
void walk(const Graph& graph, std::span<const Slot> entries, const Effort& effort, Walker& walker);

// As walk, but walker.pool takes only rows that are allowed, and the walk goes on past all others. False when that took
// more than `scored_max` scores.
bool walk_allowed(const Graph& graph, std::span<const Slot> entries, const Effort& effort, std::uint64_t scored_max,
                  const std::function<bool(Slot)>& allowed, Walker& walker);

}  // namespace vectis::inline v0_1::graph
