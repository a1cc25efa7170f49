// Exact search over segments with this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/exact/segment.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

struct HostSearchRequest {
  std::span<const SegmentView> segments;
  std::size_t dim = 0;
  Distance distance = Distance::euclidean;
  std::span<const float> queries;  // whole rows of finite numbers
  std::size_t k = 0;
  const SearchOptions* options = nullptr;
  std::string_view way = "auto";  // or the name of one, for tests and measurements
};

struct HostSearchAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, ties by lower id
  std::string way;
  std::uint64_t rows_scanned = 0;
  std::uint64_t survivors = 0;
};

// The nearest rows by exact_distance, whatever was scanned to find them.
[[nodiscard]] HostSearchAnswer host_search(Executor& executor, const HostSearchRequest& request);

// Ways to scan this precision that this processor has, the preferred first; "scalar" is always the last.
[[nodiscard]] std::vector<std::string_view> host_ways(Precision precision);

}  // namespace vectis::inline v0_1::exact
