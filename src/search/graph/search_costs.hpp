// Seconds that parts of a search take, measured on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "search/graph/search.hpp"
#include "search/graph/steps.hpp"

namespace vectis::inline v0_1::graph {

// A visited row is at a random place in memory and has its share of the queues; it costs about this many scanned ones.
inline constexpr std::size_t scanned_per_visited = 6;

// Seconds of one thread for one row, by which searches and scans are compared. Plain data; the values are of one CPU.
struct SearchCosts {
  double visited = 65e-9;          // scored by a short beam search
  double visited_late = 130e-9;    // by a long one, whose queues are long
  double late_scored = 10'000;     // rows that the long one scored
  double reranked = 100e-9;        // compared by its vector
  double scanned = 10e-9;          // by an exact scan for one query
  double scanned_in_batch = 7e-9;  // by an exact scan for each of exact_scan_queries
  // The same for rows by descending length, where scans end early: for all rows, although they read some. 0: not
  // measured.
  double scanned_by_norm = 0;
  double scanned_by_norm_in_batch = 0;
  // The same for rows that are encoded as they are scanned, however many queries there are. 0: not possible.
  double encoded = 0;
  double encoded_in_batch = 0;

  // Returns the seconds of a beam search that scores so many rows. Does not throw.
  [[nodiscard]] double beam_seconds(double scored) const noexcept;
  // Returns the costs of searches whose scans go through rows by length. Does not throw.
  [[nodiscard]] SearchCosts by_norm() const noexcept;
  // Returns the seconds of the cheapest exact scan of `rows` rows for each of `queries` queries. Does not throw.
  [[nodiscard]] double scan_seconds(std::size_t rows, std::size_t queries) const noexcept;
  // Returns whether that scan is encoded_scan. Does not throw.
  [[nodiscard]] bool encodes(std::size_t queries) const noexcept;
  // Returns the costs of scans that cannot encode rows. Does not throw.
  [[nodiscard]] SearchCosts without_encoding() const noexcept;
};

// Rows that a beam search of a graph with `rows` rows scores before it gives up and all rows are scanned: a scan then
// costs as much as the search so far, since a visited row costs several scanned ones. Does not throw.
[[nodiscard]] std::uint64_t scores_before_scan(std::size_t rows) noexcept;

// Measures the costs on the calling thread with some of the rows, which takes a few milliseconds; the defaults when
// there are fewer than 1,000. `rows` are the rows of the graph that can be found, `sample` some vectors to search for.
// Throws std::bad_alloc.
[[nodiscard]] SearchCosts measure_costs(const SearchParams& params, std::span<const Slot> rows,
                                        std::span<const Slot> sample);

// Measures the costs in steps and leaves them in `costs`: with fewer rows, and so less exactly. `live` is the number of
// rows that can be found. Storage and entry points of `params` must outlive the steps.
Steps measure_costs_in_steps(SearchParams params, std::size_t live, std::vector<Slot> sample, SearchCosts* costs);

}  // namespace vectis::inline v0_1::graph
