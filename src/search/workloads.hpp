// Predicted cost of exact and graph searches, for the planner.
#pragma once

#include <cstddef>

#include "search/exact/search_task.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::exact {

// Returns the bytes that one scan of all segments of the task reads: codes (or fp32 rows where there are no codes)
// and 16 bytes of terms per row. Does not throw.
[[nodiscard]] double scanned_bytes(const SearchTask& task) noexcept;

// Returns the predicted work of a search of `queries` queries over the task's segments on the host: operations, bytes
// and host seconds. Ignores task.queries and task.options, which may be empty.
[[nodiscard]] Workload work_on_host(const SearchTask& task, std::size_t queries);
// Returns the predicted work of a search of `queries` queries over the task's segments on a device that already holds
// `resident_bytes` of the segments: operations, bytes and host seconds as work_on_host() returns them, with the copies
// and launches of the device. `resident_bytes` may exceed scanned_bytes(task): then no segment is copied. Ignores
// task.queries and task.options, which may be empty.
[[nodiscard]] Workload work_on_device(const SearchTask& task, std::size_t queries, double resident_bytes);

}  // namespace vectis::inline v0_1::exact

namespace vectis::inline v0_1::graph {

// The size of a graph and of its searches, from which query_seconds and build_seconds predict times. Plain data.
struct GraphTask {
  std::size_t rows = 0;
  std::size_t dim = 0;
  std::size_t k = 10;
  double recall = 0.95;  // below 1
  std::size_t threads = 1;
};

// Returns the predicted seconds of one thread for a query of a graph that is not built yet. task.recall must be below
// 1; larger values count as 0.9999. Does not throw.
[[nodiscard]] double query_seconds(const GraphTask& task) noexcept;
// Returns the work of one search with `queries` queries of a graph on `threads` threads of the host, each of which
// takes `query_seconds` of one thread.
[[nodiscard]] Workload search_workload(double query_seconds, std::size_t queries, std::size_t threads);
// Returns the predicted seconds that building a graph of task.rows rows takes on task.threads threads. Does not
// throw.
[[nodiscard]] double build_seconds(const GraphTask& task) noexcept;

}  // namespace vectis::inline v0_1::graph
