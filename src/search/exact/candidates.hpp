// Rows that may be among the nearest, of every query, and the limits that follow from them.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "search/exact/bound.hpp"
#include "search/exact/scan.hpp"
#include "search/exact/task.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// A row, with bounds of its rank. `lower` stays what the scan found; the truth lowers `upper` alone, so who survives in
// the end does not depend on when truths were computed.
struct Candidate {
  std::uint32_t segment = 0;
  std::uint32_t row = 0;
  double lower = 0;
  double upper = 0;
  double distance = std::numeric_limits<double>::quiet_NaN();  // the truth, once it is computed

  [[nodiscard]] bool is_computed() const noexcept { return !std::isnan(distance); }
};

// Limits of ranks that several scans of the same queries share: each is an upper bound of the k-th smallest rank.
// Thread-safe.
class SharedLimits {
 public:
  SharedLimits(std::size_t queries, double first);
  [[nodiscard]] double get(std::size_t query) const noexcept { return limits_[query].load(std::memory_order_relaxed); }
  void lower(std::size_t query, double limit) noexcept;

 private:
  std::unique_ptr<std::atomic<double>[]> limits_;
};

// Computes the truth of every candidate: exact_distance to the query.
void compute_distances(const SearchTask& task, std::size_t query, std::span<Candidate> candidates);

// Candidates of all queries from one scan. One thread at a time.
class Candidates final : public Survivors {
 public:
  Candidates(const SearchTask& task, SharedLimits& limits);

  // What follows is of this segment, with queries prepared for it, whose limits are kept up to date.
  void begin(std::size_t segment, PreparedQueries& queries) noexcept;
  // Brings in what other scans found meanwhile.
  void refresh_limits() noexcept;
  void take(std::size_t query, std::size_t row, float lower, float width) override;
  // A candidate whose bounds of the rank are known; the way of scans on devices.
  void take_ranked(std::size_t query, const Candidate& candidate);

  [[nodiscard]] std::vector<Candidate>& of(std::size_t query) noexcept { return states_[query].found; }
  [[nodiscard]] std::uint64_t resolved() const noexcept { return resolved_; }

 private:
  struct State {
    std::vector<double> least;  // a heap of the k smallest upper bounds, the largest first
    std::vector<Candidate> found;
    std::size_t shrink_at = 0;  // found
  };
  void shrink(std::size_t query);
  void note_upper(std::size_t query, double upper);
  void lower_limit(std::size_t query);

  const SearchTask& task_;
  SharedLimits& limits_;
  std::vector<State> states_;
  std::size_t found_min_;  // so few are never looked at before the end
  std::size_t found_max_;
  std::size_t segment_ = 0;
  PreparedQueries* queries_ = nullptr;
  std::uint64_t resolved_ = 0;
};

// The hits of a query from everything its scans found. Adds how many rows no lower bound rules out to `resolved`.
[[nodiscard]] std::vector<Hit> resolve(const SearchTask& task, std::size_t query, std::vector<Candidate> candidates,
                                       std::uint64_t& resolved);

}  // namespace vectis::inline v0_1::exact
