// A checked search of an exact index, and its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// Preconditions, which Index::search checked: whole rows of finite floats, 1 <= k <= vectors. Immutable.
struct SearchTask {
  std::span<const SegmentView> segments;
  std::size_t dim = 0;
  Metric metric = Metric::l2;
  Precision precision = Precision::fp32;  // of the segments; of future ones when there are none
  std::span<const float> queries;
  std::size_t k = 0;
  const SearchOptions* options = nullptr;

  [[nodiscard]] std::size_t query_count() const noexcept { return queries.size() / dim; }
  [[nodiscard]] const float* query(std::size_t index) const noexcept { return queries.data() + index * dim; }
  // Rows of the segments times queries.
  [[nodiscard]] std::uint64_t rows_to_scan() const noexcept {
    std::uint64_t rows = 0;
    for (const SegmentView& segment : segments) rows += segment.rows;
    return rows * query_count();
  }
  // Whether the row may be returned: it has no tombstone, and the filter allows its id.
  [[nodiscard]] bool allows(const SegmentView& segment, std::size_t row) const {
    return !segment.is_removed(row) && (!options->filter || options->filter->allows(segment.ids[row]));
  }
};

struct ExactAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, equal distances by lower id
  SearchExplanation explanation;       // all but precision and seconds
};

}  // namespace vectis::inline v0_1::exact
