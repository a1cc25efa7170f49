#include "search/graph_work.hpp"

#include <algorithm>
#include <cmath>

namespace vectis::inline v0_1::graph {

namespace {

// Time to fetch a row from memory and compare its codes, measured on one CPU. The planner corrects it by what it
// records.
double score_seconds(std::size_t dim) noexcept {
  constexpr double row_seconds = 30e-9;
  constexpr double coordinate_seconds = 0.12e-9;
  return row_seconds + coordinate_seconds * static_cast<double>(dim);
}

double threads_used(const GraphTask& task, double tasks) noexcept {
  return std::clamp(tasks, 1.0, static_cast<double>(std::max<std::size_t>(1, task.threads)));
}

}  // namespace

// Fitted to data without cluster structure: a search scores 450 of 100,000 rows for recall 0.95. That grows with the
// power 0.3 of the rows, and with the inverse square root of the share that may be missed.
Workload search_workload(const GraphTask& task, std::size_t queries) {
  const auto query_count = static_cast<double>(queries);
  const double k_factor = std::max(1.0, static_cast<double>(task.k) / 10);
  const double scored = 450 * std::pow(static_cast<double>(task.rows) / 1e5, 0.3) *
                        std::sqrt(0.05 / std::max(1 - task.recall, 1e-4)) * k_factor;
  constexpr double rerank_seconds = 500e-9;  // per row, by its vector
  const double query_seconds =
      scored * score_seconds(task.dim) + (2 * static_cast<double>(task.k) + 12) * rerank_seconds;
  Workload work;
  work.name = "graph/int8";
  work.launches = 0;
  work.host_seconds = query_count * query_seconds / threads_used(task, query_count);
  return work;
}

double build_seconds(const GraphTask& task) noexcept {
  constexpr double scores_per_row = 2800;
  const auto rows = static_cast<double>(task.rows);
  return rows * scores_per_row * score_seconds(task.dim) / threads_used(task, rows);
}

}  // namespace vectis::inline v0_1::graph
