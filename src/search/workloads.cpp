#include "search/workloads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/exact/device/scan.hpp"

namespace vectis::inline v0_1::exact {

double scanned_bytes(const SearchTask& task) noexcept {
  constexpr double term_bytes = 16;
  double bytes = 0;
  for (const SegmentView& segment : task.segments) {
    const std::size_t codes = segment.quantizer->chunks * chunk_bytes;
    const std::size_t row = codes > 0 ? codes : task.dim * sizeof(float);
    bytes += static_cast<double>(segment.rows) * (static_cast<double>(row) + term_bytes);
  }
  return bytes;
}

namespace {

// Preparing queries, collecting candidates while the k nearest so far improve (in rows of random order k (1 + ln(n /
// k)) times), and reranking. The nanoseconds were measured on one CPU; the planner corrects them by history.
double seconds_for_candidates(const SearchTask& task, double rows, double queries) {
  constexpr double of_candidate = 240e-9;
  constexpr double of_coordinate = 0.6e-9;
  const double k = std::min(static_cast<double>(task.k), rows);
  if (k == 0) return 0;
  const double candidates = k * (1 + std::log(rows / k));
  return queries * candidates * (of_candidate + of_coordinate * static_cast<double>(task.dim));
}

}  // namespace

Workload work_on_host(const SearchTask& task, std::size_t queries) {
  double rows = 0;
  for (const SegmentView& segment : task.segments) rows += static_cast<double>(segment.rows);
  Workload work;
  work.name = fmt::format("exact/{}", name(task.precision));
  work.operations.at(task.precision) = 2 * rows * static_cast<double>(task.dim) * static_cast<double>(queries);
  work.bytes = scanned_bytes(task);
  work.host_seconds = seconds_for_candidates(task, rows, static_cast<double>(queries));
  return work;
}

Workload work_on_device(const SearchTask& task, std::size_t queries, double resident_bytes) {
  constexpr double candidate_bytes = 12;  // its row and two bounds
  const auto asked = static_cast<double>(queries);
  Workload work = work_on_host(task, queries);
  work.copy_in_bytes = std::max(0.0, work.bytes - resident_bytes) +
                       asked * static_cast<double>(task.dim) * static_cast<double>(size_of(task.precision));
  work.copy_out_bytes = asked * static_cast<double>(device_capacity(task.k)) * candidate_bytes;
  work.launches = 2 * static_cast<double>(task.segments.size());
  return work;
}

}  // namespace vectis::inline v0_1::exact

namespace vectis::inline v0_1::graph {

namespace {

// Time to fetch a row from memory and compare its codes, measured on one CPU. The planner corrects it by what it
// records.
double score_seconds(std::size_t dim) noexcept {
  constexpr double row_seconds = 30e-9;
  constexpr double coordinate_seconds = 0.12e-9;
  return row_seconds + coordinate_seconds * static_cast<double>(dim);
}

double threads_used(std::size_t threads, double tasks) noexcept {
  return std::clamp(tasks, 1.0, static_cast<double>(std::max<std::size_t>(1, threads)));
}

}  // namespace

// Fitted to data without cluster structure: a search scores 450 of 100,000 rows for recall 0.95. That grows with the
// power 0.3 of the rows, and with the inverse square root of the share that may be missed.
double query_seconds(const GraphTask& task) noexcept {
  const double k_factor = std::max(1.0, static_cast<double>(task.k) / 10);
  const double scored = 450 * std::pow(static_cast<double>(task.rows) / 1e5, 0.3) *
                        std::sqrt(0.05 / std::max(1 - task.recall, 1e-4)) * k_factor;
  constexpr double rerank_seconds = 500e-9;  // per row, by its vector
  return scored * score_seconds(task.dim) + (2 * static_cast<double>(task.k) + 12) * rerank_seconds;
}

Workload search_workload(double query_seconds, std::size_t queries, std::size_t threads) {
  const auto count = static_cast<double>(queries);
  Workload work;
  work.name = "graph/int8";
  work.launches = 0;
  work.host_seconds = count * query_seconds / threads_used(threads, count);
  return work;
}

double build_seconds(const GraphTask& task) noexcept {
  constexpr double scores_per_row = 2800;
  const auto rows = static_cast<double>(task.rows);
  return rows * scores_per_row * score_seconds(task.dim) / threads_used(task.threads, rows);
}

}  // namespace vectis::inline v0_1::graph
