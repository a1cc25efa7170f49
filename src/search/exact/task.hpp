// What a search is asked, for everybody who has a part in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

// A search that was checked: whole rows of finite numbers, 1 <= k <= vectors. Immutable.
struct SearchTask {
  std::span<const SegmentView> segments;
  std::size_t dim = 0;
  Metric distance = Metric::l2;
  Precision precision = Precision::fp32;  // of the segments; of those to come when there are none
  std::span<const float> queries;
  std::size_t k = 0;
  const SearchOptions* options = nullptr;

  [[nodiscard]] std::size_t query_count() const noexcept { return queries.size() / dim; }
  [[nodiscard]] const float* query(std::size_t index) const noexcept { return queries.data() + index * dim; }
  // Rows of the segments, times queries.
  [[nodiscard]] std::uint64_t rows_to_scan() const noexcept;
  // Ranks above it are out from the start: the radius.
  [[nodiscard]] double first_limit() const noexcept;
  // Whether the row may be found at all: not removed, and let through by the filter.
  [[nodiscard]] bool allows(const SegmentView& segment, std::size_t row) const noexcept;
};

}  // namespace vectis::inline v0_1::exact
