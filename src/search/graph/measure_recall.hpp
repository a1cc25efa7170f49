// The recall and cost of searches by epsilon, measured with rows that are not in the graph, or left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "search/graph/search_costs.hpp"
#include "search/graph/steps.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Called often, by several threads at once: what it throws ends a measurement. Empty: nothing ends it.
using StopCheck = std::function<void()>;

// Numbers of reranked rows that are tried.
inline constexpr std::array<std::uint32_t, 4> calibrated_reranked{16, 32, 64, 128};

struct RecallEstimate {
  double mean = 0;
  double error = 0;  // standard error of the mean; at least as if half a query had found nothing
};

// What searches for some rows found, as sums over the queries. Plain data.
struct RecallTable {
  struct Row {
    float epsilon = 1;
    std::array<double, calibrated_reranked.size()> missed = {};   // shares of the nearest calibrated_k
    std::array<double, calibrated_reranked.size()> squares = {};  // of these shares
    double scored = 0;                                            // rows, by beam searches
    double scans = 0;                                             // searches that gave up, which a scan answers
  };
  std::vector<Row> rows;  // epsilon ascends, as in every other table
  double queries = 0;     // a weighted table may have parts of them
  // Rows scored at which searches gave up and all rows were scanned: the least of all tables that were added.
  std::uint64_t scores_max = std::numeric_limits<std::uint64_t>::max();
  // How likely two of the nearest rows, of any queries, are the same row: 1 / number of rows when all are equally often
  // among the nearest. The largest of all tables that were added.
  double concentration = 0;

  // Adds the queries of another table; beyond its last epsilon that one counts. Throws std::bad_alloc.
  void add(const RecallTable& other);
  // Counts every query `queries_factor` times, and every missed neighbor `missed_factor` times. Does not throw.
  void scale(double queries_factor, double missed_factor) noexcept;
  // Returns the recall at rows[step] with calibrated_reranked[depth] reranked rows. The mean may be negative when
  // missed neighbors count more than once. There must be queries. Does not throw.
  [[nodiscard]] RecallEstimate recall(std::size_t step, std::size_t depth) const noexcept;
};

// Searches for each row of `queries` with growing epsilon: up to epsilon_max and a little beyond, or until recall
// reaches 0.9985, stops to grow, or searches cost more than scans. The ground truth is that of exact scans over `rows`,
// which must be all rows of the graph that can be found; equal distances count as found, and a query that is one of the
// rows does not find itself. There must be at least one query. The result does not depend on the number of threads.
// Throws what `stop` throws, and std::bad_alloc.
[[nodiscard]] RecallTable measure_recall(Executor& executor, const SearchParams& params, std::span<const Slot> rows,
                                         std::span<const Slot> queries, std::optional<float> epsilon_max,
                                         const StopCheck& stop);

// Does the same in steps, with the ground truth of all rows that are visible in params.epoch, `live` in number, and
// leaves the result in `table`. Rows may be linked and removed in between, but no slot of a visible row may be reused.
// Storage and entry points of `params` must outlive the steps.
Steps measure_recall_in_steps(SearchParams params, std::size_t live, std::vector<Slot> queries,
                              std::optional<float> epsilon_max, RecallTable* table);

}  // namespace vectis::inline v0_1::graph
