// Whether the queries that are asked find what a calibration promises.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

namespace vectis::inline v0_1::graph {

// A calibration is made with vectors of the graph, and queries of another distribution may find less. So some queries
// are answered by a scan too: the first ones, and few of all later ones. When they find less than promised, searches
// go further for all queries. Thread-safe.
class QueryCheck {
 public:
  static constexpr std::size_t first_queries = 64;  // that are checked before the promise is trusted
  class Due;

  // Counts `queries` queries, and returns how many of them should be checked: those that are missing of the first ones,
  // and one of `every` (0: no others). Does not throw.
  [[nodiscard]] Due count_due(std::size_t queries, std::uint64_t every) noexcept;
  // Returns how many times as much as the calibration promises is taken to be missed: 1 until checks show more. Does
  // not throw.
  [[nodiscard]] double missed_factor() const noexcept { return missed_factor_.load(std::memory_order_relaxed); }
  // Returns the recall of the calibration that promises `recall` where `factor` times as much is missed; nullopt where
  // so much is missed that no calibration can. Does not throw.
  [[nodiscard]] static std::optional<double> recall_for(double recall, double factor) noexcept;

 private:
  // What checked queries missed, and what was promised that they miss.
  struct Sums {
    double queries = 0;
    double missed = 0;
    double promised = 0;
    double squares = 0;  // of what each missed beyond what was promised
  };

  // Adds to the sums, and returns whether they show that searches must go further. The caller holds the mutex.
  bool note(double recall, std::span<const double> found) noexcept;
  void give_back(std::size_t first) noexcept;
  [[nodiscard]] static bool too_much_missed(const Sums& sums) noexcept;

  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::size_t> first_left_ = first_queries;  // that are still to be checked
  std::atomic<double> missed_factor_ = 1;                // how many times what the calibration promises is missed
  std::mutex mutex_;
  Sums sums_;                         // since the factor changed
  double next_test_ = first_queries;  // queries at which the sums are tested again
};

// The checks that are due of some queries. Unless they are recorded, later queries are checked in their place.
class QueryCheck::Due {
 public:
  Due(QueryCheck& check, std::size_t first, std::size_t size) noexcept : check_(check), first_(first), size_(size) {}
  Due(const Due&) = delete;
  Due& operator=(const Due&) = delete;
  ~Due() { check_.give_back(first_); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Notes which shares of their nearest neighbors the checked queries found with a promised recall, in searches that
  // went as far as a missed_factor() asked for. Returns whether searches go further now: because that is too little,
  // and then the next queries are checked again, or because other threads saw too little; then the shares say nothing
  // of today's searches and do not count. Does not throw.
  [[nodiscard]] bool record(double recall, double factor, std::span<const double> found) noexcept;

 private:
  QueryCheck& check_;
  std::size_t first_;  // of them are of the first queries
  std::size_t size_;
};

// The checks of queries that ask for different recalls: what is missed beyond what is promised differs too.
class QueryChecks {
 public:
  [[nodiscard]] QueryCheck& of(double recall) noexcept {
    return checks_[static_cast<std::size_t>(std::ranges::upper_bound(limits, recall) - limits.begin())];
  }

 private:
  static constexpr std::array limits{0.9, 0.97, 0.993, 0.9995};
  std::array<QueryCheck, limits.size() + 1> checks_;
};

}  // namespace vectis::inline v0_1::graph
