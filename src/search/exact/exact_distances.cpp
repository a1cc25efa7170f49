#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "search/exact/candidates.hpp"

namespace vectis::inline v0_1::exact {

namespace {

// One sum must be added in order, so its additions wait for each other; sums of several rows do not.
constexpr std::size_t rows_together = 8;
using Rows = std::array<const float*, rows_together>;
using Sums = std::array<double, rows_together>;

Sums squared_differences(const float* query, const Rows& rows, std::size_t dim) noexcept {
  Sums sums{};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t row = 0; row < rows_together; ++row) {
      const double difference = double{query[i]} - double{rows[row][i]};
      sums[row] += difference * difference;
    }
  }
  return sums;
}

Sums products(const float* query, const Rows& rows, std::size_t dim) noexcept {
  Sums sums{};
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t row = 0; row < rows_together; ++row) sums[row] += double{query[i]} * double{rows[row][i]};
  }
  return sums;
}

Sums distances_of_rows(const SearchTask& task, const float* query, const Rows& rows, std::size_t count) {
  Sums sums{};
  if (task.distance == Distance::euclidean) {
    sums = squared_differences(query, rows, task.dim);
    for (double& sum : sums) sum = std::sqrt(sum);
  } else if (task.distance == Distance::inner_product) {
    sums = products(query, rows, task.dim);
    for (double& sum : sums) sum = -sum;
  } else {
    for (std::size_t row = 0; row < count; ++row) {
      sums[row] = exact_distance(task.distance, {query, task.dim}, {rows[row], task.dim});
    }
  }
  return sums;
}

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
    Rows rows;
    for (std::size_t i = 0; i < rows_together; ++i) {
      const Candidate& candidate = candidates[first + std::min(i, count - 1)];
      const SegmentView& segment = task.segments[candidate.segment];
      if (segment.originals != nullptr) {
        rows[i] = segment.originals + candidate.row * task.dim;
        continue;
      }
      decoded.resize(rows_together * task.dim);
      segment.read_row(candidate.row, decoded.data() + i * task.dim);
      rows[i] = decoded.data() + i * task.dim;
    }
    const Sums distances = distances_of_rows(task, task.query(query), rows, count);
    for (std::size_t i = 0; i < count; ++i) candidates[first + i].distance = distances[i];
  }
}

}  // namespace vectis::inline v0_1::exact
