#include <algorithm>
#include <array>
#include <vector>

#include "search/exact/candidates.hpp"
#include "search/exact/row_distances.hpp"

namespace vectis::inline v0_1::exact {

namespace {

// Candidates lie anywhere in memory: what the next few begin with is on its way while these are computed.
void prefetch_rows(const SearchTask& task, std::span<const Candidate> candidates) noexcept {
  constexpr std::size_t line = 64 / sizeof(float);
  constexpr std::size_t ahead = 16 * line;  // then the processor has seen where it goes
  for (const Candidate& candidate : candidates) {
    const SegmentView& segment = task.segments[candidate.segment];
    if (segment.originals == nullptr) continue;
    const float* const row = segment.originals + candidate.row * task.dim;
    for (std::size_t i = 0; i < std::min(task.dim, ahead); i += line) __builtin_prefetch(row + i);
  }
}

}  // namespace

void compute_distances(const SearchTask& task, std::size_t query, std::span<Candidate> candidates) {
  std::vector<float> decoded;
  for (std::size_t first = 0; first < candidates.size(); first += rows_together) {
    const std::size_t count = std::min(rows_together, candidates.size() - first);
    const std::size_t next = std::min(first + rows_together, candidates.size());
    prefetch_rows(task, candidates.subspan(next, std::min(rows_together, candidates.size() - next)));
    std::array<const float*, rows_together> rows;
    for (std::size_t i = 0; i < count; ++i) {
      const Candidate& candidate = candidates[first + i];
      const SegmentView& segment = task.segments[candidate.segment];
      if (segment.originals != nullptr) {
        rows[i] = segment.originals + candidate.row * task.dim;
        continue;
      }
      decoded.resize(rows_together * task.dim);
      segment.read_row(candidate.row, decoded.data() + i * task.dim);
      rows[i] = decoded.data() + i * task.dim;
    }
    std::array<double, rows_together> distances;
    row_distances(task.distance, {task.query(query), task.dim}, std::span(rows).first(count), distances.data());
    for (std::size_t i = 0; i < count; ++i) candidates[first + i].distance = distances[i];
  }
}

}  // namespace vectis::inline v0_1::exact
