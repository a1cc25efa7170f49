// Predicted cost of exact and graph searches, for the planner.
#pragma once

#include <cstddef>

#include "search/exact/search_task.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::exact {

// Bytes that a search scans: codes or fp32 rows, and terms.
[[nodiscard]] double scanned_bytes(const SearchTask& task) noexcept;

// A search of `queries` queries on the host; the task's own queries may be empty.
[[nodiscard]] Workload work_on_host(const SearchTask& task, std::size_t queries);
// The same on a device that holds `resident_bytes` of the rows already.
[[nodiscard]] Workload work_on_device(const SearchTask& task, std::size_t queries, double resident_bytes);

}  // namespace vectis::inline v0_1::exact

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
