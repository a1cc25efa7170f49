// What an exact search costs, as the planner wants it said.
#pragma once

#include <cstddef>

#include "search/exact/searcher.hpp"
#include "vectis/plan/workload.hpp"

namespace vectis::inline v0_1::exact {

// Bytes of the rows as they are scanned, terms included.
[[nodiscard]] double scanned_bytes(const SearchTask& task) noexcept;

// On this processor. `queries` counts them; the task's own may be missing.
[[nodiscard]] Workload work_on_host(const SearchTask& task, std::size_t queries);
// On a device that holds so many bytes of the rows already.
[[nodiscard]] Workload work_on_device(const SearchTask& task, std::size_t queries, double resident_bytes);

}  // namespace vectis::inline v0_1::exact
