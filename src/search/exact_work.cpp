#include "search/exact_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "search/exact/device/scan.hpp"

namespace vectis::inline v0_1::exact {

double scanned_bytes(const SearchTask& task) noexcept {
  constexpr double term_bytes = 16;
  double bytes = 0;
  for (const SegmentView& segment : task.segments) {
    const std::size_t codes = segment.frame->chunks * chunk_bytes;
    const std::size_t row = codes > 0 ? codes : task.dim * sizeof(float);
    bytes += static_cast<double>(segment.rows) * (static_cast<double>(row) + term_bytes);
  }
  return bytes;
}

namespace {

// Queries are prepared, candidates taken while the k nearest so far improve (in rows of random order k (1 + ln(n / k))
// times), and survivors looked at in double precision. The nanoseconds are one processor's; history corrects them.
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
