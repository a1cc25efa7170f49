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

// A row with bounds of its rank (see prepared_queries.hpp). `lower` stays what the scan found; the exact distance
// lowers `upper` alone, so which rows are reranked in the end does not depend on when distances were computed.
struct Candidate {
  std::uint32_t segment = 0;
  std::uint32_t row = 0;
  double lower = 0;
  double upper = 0;
  double distance = std::numeric_limits<double>::quiet_NaN();  // exact; NaN until it is computed

  [[nodiscard]] bool is_computed() const noexcept { return !std::isnan(distance); }
};

// For each query an upper bound of the k-th smallest rank, shared by the threads that scan. Thread-safe.
class SharedLimits {
 public:
  SharedLimits(std::size_t queries, double first);
  [[nodiscard]] double get(std::size_t query) const noexcept { return limits_[query].load(std::memory_order_relaxed); }
  void lower(std::size_t query, double limit) noexcept;

 private:
  std::unique_ptr<std::atomic<double>[]> limits_;
};

// The limit of ranks before anything was scanned: that of the radius, or infinity.
[[nodiscard]] double initial_limit(const SearchTask& task) noexcept;

// Sets the exact distance of every candidate to the query.
void compute_distances(const SearchTask& task, std::size_t query, std::span<Candidate> candidates);

// Collects the candidates of all queries of one scan. One thread at a time.
class Candidates final {
 public:
  Candidates(const SearchTask& task, SharedLimits& limits);

  // The next rows are of this segment; `queries` were prepared for it, and their limits are kept up to date.
  void begin(std::size_t segment, PreparedQueries& queries) noexcept;
  // Takes over limits that other scans lowered.
  void refresh_limits() noexcept;
  // Adds a row whose key is between `lower` and `lower + width`; unknown when either is not finite. May lower the
  // query's limit. Rows with tombstones and rows that the filter excludes are dropped.
  void push(std::size_t query, std::size_t row, float lower, float width);
  // Adds a candidate whose bounds of the rank are known, as scans on devices do.
  void push_ranked(std::size_t query, const Candidate& candidate);

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
  std::uint64_t reranked_ = 0;
};

// The k nearest of the candidates by exact distance. Adds the number of rows that no lower bound rules out to
// `reranked`.
[[nodiscard]] std::vector<Hit> rerank(const SearchTask& task, std::size_t query, std::vector<Candidate> candidates,
                                      std::uint64_t& reranked);

}  // namespace vectis::inline v0_1::exact
