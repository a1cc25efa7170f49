// Exact search over segments with this processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/exact/task.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/search/index.hpp"

namespace vectis::inline v0_1::exact {

struct HostSearchAnswer {
  std::vector<std::vector<Hit>> hits;  // of each query, nearest first, ties by lower id
  std::string way;
  std::uint64_t rows_scanned = 0;
  std::uint64_t survivors = 0;
};

// The nearest rows by exact_distance, whatever was scanned to find them. `way` is "auto", or the name of one for tests
// and measurements.
[[nodiscard]] HostSearchAnswer host_search(Executor& executor, const SearchTask& task, std::string_view way = "auto");

// Ways to scan this precision that this processor has, the preferred first; "scalar" is always the last.
[[nodiscard]] std::vector<std::string_view> host_ways(Precision precision);

}  // namespace vectis::inline v0_1::exact
