#include "search/exact_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/exact/device/scan.hpp"

namespace vectis::inline v0_1::exact {

double scanned_bytes(const ExactRequest& request) noexcept {
  constexpr double term_bytes = 16;
  double bytes = 0;
  for (const SegmentView& segment : request.segments) {
    const std::size_t codes = segment.frame->chunks * chunk_bytes;
    const std::size_t row = codes > 0 ? codes : request.dim * sizeof(float);
    bytes += static_cast<double>(segment.rows) * (static_cast<double>(row) + term_bytes);
  }
  return bytes;
}

Work work_on_host(const ExactRequest& request, std::size_t queries) {
  double rows = 0;
  for (const SegmentView& segment : request.segments) rows += static_cast<double>(segment.rows);
  Work work;
  work.name = fmt::format("exact/{}", name(request.precision));
  work.operations.at(request.precision) = 2 * rows * static_cast<double>(request.dim) * static_cast<double>(queries);
  work.bytes = scanned_bytes(request);
  return work;
}

Work work_on_device(const ExactRequest& request, std::size_t queries, double resident_bytes) {
  constexpr double candidate_bytes = 12;  // its row and two bounds
  const auto asked = static_cast<double>(queries);
  Work work = work_on_host(request, queries);
  work.copy_in_bytes = std::max(0.0, work.bytes - resident_bytes) +
                       asked * static_cast<double>(request.dim) * static_cast<double>(size_of(request.precision));
  work.copy_out_bytes = asked * static_cast<double>(device_capacity(request.k)) * candidate_bytes;
  work.launches = 2 * static_cast<double>(request.segments.size());
  return work;
}

}  // namespace vectis::inline v0_1::exact
