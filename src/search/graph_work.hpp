// What a graph costs, to search and to build, as the planner wants it said.
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

// Of so many queries at once.
[[nodiscard]] Workload work_of_walks(const GraphTask& task, std::size_t queries);
// Of all rows.
[[nodiscard]] double seconds_to_build(const GraphTask& task) noexcept;

}  // namespace vectis::inline v0_1::graph
