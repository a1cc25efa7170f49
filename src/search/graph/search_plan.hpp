// How one search of a graph index is answered.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "search/graph/exact_scan.hpp"
#include "search/graph/graph_index.hpp"

namespace vectis::inline v0_1::graph {

// How the queries are answered, and what the search did so far.
struct GraphIndex::SearchPlan {
  std::shared_ptr<const Epoch> epoch;
  SearchParams params;
  std::string kernel;
  std::string reason;
  bool exact = false;             // scan all rows that may be found
  double beam_seconds = 0;        // predicted for a query
  double recall = 0;              // that beam searches promise; 0 when the caller chose their width
  double missed_factor = 1;       // QueryCheck's, as far as which the beam searches go
  QueryCheck* check = nullptr;    // of the answers; null when they are not checked
  std::uint64_t check_every = 0;  // query, after the first ones; 0: no others
  SearchCosts costs;
  const IdFilter* filter = nullptr;
  FilterBudget budget;           // of a filtered search
  std::size_t device_width = 0;  // list length on a device; 0: the host searches
  // The rows that may be found, collected by the first query that needs them.
  mutable std::once_flag rows_collected;
  mutable std::vector<Slot> rows;
  // What the search did so far; its threads add to them.
  mutable std::atomic<std::uint64_t> scored = 0;
  mutable std::atomic<std::uint64_t> reranked = 0;
  mutable std::size_t host_queries = 0;  // that the host answered although a device was chosen

  void forget_counts() noexcept {
    scored = 0;
    reranked = 0;
    host_queries = 0;
  }
  void count(const ExactScanCounts& counts) const noexcept {
    scored.fetch_add(counts.scored, std::memory_order_relaxed);
    reranked.fetch_add(counts.reranked, std::memory_order_relaxed);
  }
};

}  // namespace vectis::inline v0_1::graph
