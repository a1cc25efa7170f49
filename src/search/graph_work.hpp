// Predicted costs of searching and building a graph, for the planner.
#pragma once

#include <cstddef>

#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::graph {

struct GraphTask {
  std::size_t rows = 0;
  std::size_t dim = 0;
  std::size_t k = 10;
  double recall = 0.95;  // below 1
  std::size_t threads = 1;
};

// Of one search with `queries` queries on the host.
[[nodiscard]] Workload search_workload(const GraphTask& task, std::size_t queries);
// Of linking all rows.
[[nodiscard]] double build_seconds(const GraphTask& task) noexcept;

}  // namespace vectis::inline v0_1::graph
