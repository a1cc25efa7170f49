#include "search/exact_work.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Work work_on_host(const SearchTask& task, std::size_t queries) {
  double rows = 0;
  for (const SegmentView& segment : task.segments) rows += static_cast<double>(segment.rows);
  Work work;
  work.name = fmt::format("exact/{}", name(task.precision));
  work.operations.at(task.precision) = 2 * rows * static_cast<double>(task.dim) * static_cast<double>(queries);
  work.bytes = scanned_bytes(task);
  return work;
}

Work work_on_device(const SearchTask& task, std::size_t queries, double resident_bytes) {
  constexpr double candidate_bytes = 12;  // its row and two bounds
  const auto asked = static_cast<double>(queries);
  Work work = work_on_host(task, queries);
  work.copy_in_bytes = std::max(0.0, work.bytes - resident_bytes) +
                       asked * static_cast<double>(task.dim) * static_cast<double>(size_of(task.precision));
  work.copy_out_bytes = asked * static_cast<double>(device_capacity(task.k)) * candidate_bytes;
  work.launches = 2 * static_cast<double>(task.segments.size());
  return work;
}

}  // namespace vectis::inline v0_1::exact
