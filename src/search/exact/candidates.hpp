// Candidates: rows that may be among the k nearest of a query, the limits that follow from them, and reranking.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "search/exact/prepared_queries.hpp"
#include "search/exact/search_task.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// A row that may be among the k nearest of a query, with a lower and an upper bound of its rank (the distance in
// units that all segments share, see prepared_queries.hpp). Computing the exact distance lowers `upper` alone, so
// which rows are reranked in the end does not depend on when distances were computed.
struct Candidate {
  std::uint32_t segment = 0;
  std::uint32_t row = 0;
  double lower = 0;
  double upper = 0;
  double distance = std::numeric_limits<double>::quiet_NaN();  // exact; NaN until it is computed

  // Returns whether the exact distance is known.
  [[nodiscard]] bool is_computed() const noexcept { return !std::isnan(distance); }
};

// Holds for each query an upper bound of its k-th smallest rank, which the threads that scan share and lower.
// Thread-safe. Query indexes are not checked.
class SharedLimits {
 public:
  // Sets the limit of each of `queries` queries to `first`. Throws std::bad_alloc when memory is exhausted.
  SharedLimits(std::size_t queries, double first);
  [[nodiscard]] double get(std::size_t query) const noexcept { return limits_[query].load(std::memory_order_relaxed); }
  // Lowers the limit of a query to `limit`; does nothing when the limit is that low already. Precondition: the query
  // exists. Does not throw.
  void lower(std::size_t query, double limit) noexcept;

 private:
  std::unique_ptr<std::atomic<double>[]> limits_;
};

// Returns the limit of ranks before any row was scanned: the rank of the radius in task.options, or infinity without
// a radius. Precondition: task.options is not null. Does not throw.
[[nodiscard]] double initial_limit(const SearchTask& task) noexcept;

// Computes the exact distance of every candidate to the query at index `query` and stores it in Candidate::distance.
// Precondition, not checked: query and candidates belong to the task. Throws std::bad_alloc when memory is exhausted.
void compute_distances(const SearchTask& task, std::size_t query, std::span<Candidate> candidates);

// A row of a search.
struct RowPlace {
  std::size_t segment = 0;  // of the task
  std::size_t row = 0;      // of the segment
};

// Collects the candidates of all queries of one scan, and drops those that the limits rule out. One thread at a time;
// rows of different queries may be pushed at the same time.
class Candidates final {
 public:
  // Starts without candidates. `task`, with options, and `limits` must outlive this object.
  Candidates(const SearchTask& task, SharedLimits& limits);

  // Starts a segment: the rows pushed next belong to it. `queries` must be prepared for its quantizer and live until
  // the next begin(); push() and refresh_limits() update their limits. Does not throw.
  void begin(std::size_t segment, PreparedQueries& queries) noexcept;
  // Copies the shared limits, which other scans may have lowered, to the queries of begin(). Precondition: begin()
  // was called. Does not throw.
  void refresh_limits() noexcept;
  // Adds a row of the current segment whose key is between `lower` and `lower + width`; a bound that is not finite
  // means an unknown key. May lower the query's limit. Ignores rows with tombstones and rows that the filter
  // excludes. Precondition: begin() was called. Throws what the filter's predicate throws.
  void push(std::size_t query, std::size_t row, float lower, float width) {
    push(query, RowPlace{segment_, row}, lower, width);
  }
  // As above, for a row of any segment whose codes are of the quantizer for which the queries of begin() are prepared.
  void push(std::size_t query, RowPlace place, float lower, float width);
  // Adds a candidate whose rank bounds are known, and may lower the query's limit. Ignores a candidate whose lower
  // bound is above the limit. Precondition: the row has no tombstone and the filter allows it, which is not checked.
  void push_ranked(std::size_t query, const Candidate& candidate);

  // Returns the candidates of a query that are left, in any order. Precondition, not checked: the query exists.
  [[nodiscard]] std::vector<Candidate>& of(std::size_t query) noexcept { return states_[query].found; }
  [[nodiscard]] std::uint64_t reranked() const noexcept { return reranked_; }

 private:
  struct State {
    std::vector<double> smallest;  // a heap of the k smallest upper bounds, the largest first
    std::vector<Candidate> found;
    std::size_t shrink_at = 0;  // size of found at which it is reduced
  };
  void shrink(std::size_t query);
  void note_upper(std::size_t query, double upper);
  void lower_limit(std::size_t query);

  const SearchTask& task_;
  SharedLimits& limits_;
  std::vector<State> states_;
  std::size_t found_min_;  // fewer candidates are reranked at the end only
  std::size_t found_max_;
  std::size_t segment_ = 0;
  PreparedQueries* queries_ = nullptr;
  std::atomic<std::uint64_t> reranked_ = 0;
};

// Returns the task.k nearest of the candidates by exact distance within the radius, nearest first, equal distances by
// lower id; fewer when there are fewer. Adds the number of candidates that no lower bound rules out to `reranked`.
// Precondition: query and candidates belong to the task. Throws std::bad_alloc when memory is exhausted.
[[nodiscard]] std::vector<Hit> rerank(const SearchTask& task, std::size_t query, std::vector<Candidate> candidates,
                                      std::uint64_t& reranked);

}  // namespace vectis::inline v0_1::exact
