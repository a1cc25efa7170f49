#include "search/graph_work.hpp"

#include <algorithm>
#include <cmath>

namespace vectis::inline v0_1::graph {

namespace {

// A row is fetched from wherever it lies, and its codes are compared; one processor's, which history corrects.
double seconds_of_score(std::size_t dim) noexcept {
  constexpr double of_row = 30e-9;
  constexpr double of_coordinate = 0.12e-9;
  return of_row + of_coordinate * static_cast<double>(dim);
}

double used_threads(const GraphTask& task, double pieces) noexcept {
  return std::clamp(pieces, 1.0, static_cast<double>(std::max<std::size_t>(1, task.threads)));
}

}  // namespace

// Measured on hard sets: walks score 450 rows of 100,000 for a recall of 0.95, grow with the third root or so of the
// rows, and with the square root of what may not be missed.
Workload work_of_walks(const GraphTask& task, std::size_t queries) {
  const auto asked = static_cast<double>(queries);
  const double neighbours = std::max(1.0, static_cast<double>(task.k) / 10);
  const double scored = 450 * std::pow(static_cast<double>(task.rows) / 1e5, 0.3) *
                        std::sqrt(0.05 / std::max(1 - task.recall, 1e-4)) * neighbours;
  constexpr double of_hit = 500e-9;  // compared by the original
  const double of_query = scored * seconds_of_score(task.dim) + (2 * static_cast<double>(task.k) + 12) * of_hit;
  Workload work;
  work.name = "graph/int8";
  work.launches = 0;
  work.host_seconds = asked * of_query / used_threads(task, asked);
  return work;
}

double seconds_to_build(const GraphTask& task) noexcept {
  constexpr double scores_of_row = 2800;
  const auto rows = static_cast<double>(task.rows);
  return rows * scores_of_row * seconds_of_score(task.dim) / used_threads(task, rows);
}

}  // namespace vectis::inline v0_1::graph
