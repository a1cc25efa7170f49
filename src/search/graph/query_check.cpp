#include "search/graph/query_check.hpp"

#include <algorithm>
#include <cmath>

namespace vectis::inline v0_1::graph {

namespace {

// How many standard errors less than promised is too little. The sums are tested when their number has doubled, since
// a test after every query would fail by chance.
constexpr double errors_max = 2.5;
constexpr double factor_min = 1.25;    // by which searches go further at least
constexpr double factor_max = 1000;    // what a calibration says of so few missed neighbors is chance
constexpr double queries_kept = 2048;  // beyond these, earlier queries count half
// Some queries that are all alike show too small a variance: that of so many independent neighbors is the least.
constexpr double neighbors = 10;

}  // namespace

QueryCheck::Due QueryCheck::count_due(std::size_t queries, std::uint64_t every) noexcept {
  std::uint64_t due = 0;
  if (every > 0) {
    const std::uint64_t before = asked_.fetch_add(queries, std::memory_order_relaxed);
    due = (before + queries) / every - before / every;
  }
  std::size_t left = first_left_.load(std::memory_order_relaxed);
  std::size_t first = 0;
  do {
    first = std::min(left, queries);
  } while (first > 0 && !first_left_.compare_exchange_weak(left, left - first, std::memory_order_relaxed));
  return {*this, first, std::min(queries, std::max(first, static_cast<std::size_t>(due)))};
}

void QueryCheck::give_back(std::size_t first) noexcept {
  std::size_t left = first_left_.load(std::memory_order_relaxed);
  while (first > 0 &&
         !first_left_.compare_exchange_weak(left, std::min(first_queries, left + first), std::memory_order_relaxed)) {
  }
}

std::optional<double> QueryCheck::recall_for(double recall, double factor) noexcept {
  if (factor > factor_max) return std::nullopt;
  return factor > 1 ? 1 - (1 - recall) / factor : recall;
}

bool QueryCheck::Due::record(double recall, double factor, std::span<const double> found) noexcept {
  const std::lock_guard lock(check_.mutex_);
  if (factor != check_.missed_factor()) return true;
  first_ = 0;
  return check_.note(recall, found);
}

bool QueryCheck::too_much_missed(const Sums& sums) noexcept {
  const double beyond = (sums.missed - sums.promised) / sums.queries;
  const double promised = sums.promised / sums.queries;
  const double least = promised * (1 - promised) / neighbors;
  const double variance = std::max(sums.squares / sums.queries - beyond * beyond, least);
  return beyond > errors_max * std::sqrt(variance / sums.queries);
}

bool QueryCheck::note(double recall, std::span<const double> found) noexcept {
  for (const double share : found) {
    const double beyond = recall - share;
    sums_.missed += 1 - share;
    sums_.promised += 1 - recall;
    sums_.squares += beyond * beyond;
  }
  sums_.queries += static_cast<double>(found.size());
  if (sums_.queries < next_test_) return false;
  if (!too_much_missed(sums_)) {
    if (sums_.queries >= queries_kept) {
      sums_ = {sums_.queries / 2, sums_.missed / 2, sums_.promised / 2, sums_.squares / 2};
    }
    next_test_ = 2 * sums_.queries;
    return false;
  }
  const double factor = std::max(factor_min, sums_.missed / sums_.promised);
  missed_factor_.store(missed_factor_.load(std::memory_order_relaxed) * factor, std::memory_order_relaxed);
  sums_ = {};
  next_test_ = first_queries;
  first_left_.store(first_queries, std::memory_order_relaxed);
  return true;
}

}  // namespace vectis::inline v0_1::graph
