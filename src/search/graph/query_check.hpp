// Whether the queries that are asked find what a calibration promises.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace vectis::inline v0_1::graph {

// A calibration is made with vectors of the graph, and queries of another distribution may find less. So some queries
// are answered by a scan too: the first ones, and few of all later ones. When they find less than promised, searches
// go further for all queries. Thread-safe.
class QueryCheck {
 public:
  static constexpr std::size_t first_queries = 64;  // that are checked before the promise is trusted

  // Counts `queries` queries, and returns how many of them should be checked: those that are missing of the first ones,
  // and one of `every` (0: no others). Does not throw.
  [[nodiscard]] std::size_t count_due(std::size_t queries, std::uint64_t every) noexcept;
  // Notes which shares of their nearest neighbors checked queries found with a promised recall. Returns whether that is
  // too little: then searches go further from now on, and the next queries are checked again. Does not throw.
  bool record(double recall, std::span<const double> found) noexcept;
  // Returns the recall of the calibration that promises `recall` for the queries that are asked. Does not throw.
  [[nodiscard]] double recall_for(double recall) const noexcept {
    return 1 - (1 - recall) / missed_factor_.load(std::memory_order_relaxed);
  }

 private:
  // What checked queries missed, and what was promised that they miss.
  struct Sums {
    double queries = 0;
    double missed = 0;
    double promised = 0;
    double squares = 0;  // of what each missed beyond what was promised
  };

  [[nodiscard]] static bool too_much_missed(const Sums& sums) noexcept;

  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::size_t> first_left_ = first_queries;  // that are still to be checked
  std::atomic<double> missed_factor_ = 1;                // how many times what the calibration promises is missed
  std::mutex mutex_;
  Sums sums_;                         // since the factor changed
  double next_test_ = first_queries;  // queries at which the sums are tested again
};

// The checks of queries that ask for different recalls: what is missed beyond what is promised differs too.
class QueryChecks {
 public:
  [[nodiscard]] QueryCheck& of(double recall) noexcept {
    return checks_[static_cast<std::size_t>(std::ranges::upper_bound(limits, recall) - limits.begin())];
  }

 private:
  static constexpr std::array limits{0.9, 0.97, 0.993};
  std::array<QueryCheck, limits.size() + 1> checks_;
};

}  // namespace vectis::inline v0_1::graph
