// Exact search over segments on the host CPU.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "search/exact/search_task.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::exact {

// The k nearest rows by exact_distance. `kernel` is "auto" or, for tests and measurements, the name of a scan kernel.
// Throws InvalidInput when that kernel does not run here, and Cancelled or DeadlineExceeded as the options' context
// says.
[[nodiscard]] ExactAnswer host_search(Executor& executor, const SearchTask& task, std::string_view kernel = "auto");

// How host_search would search for that many queries: one line for people.
[[nodiscard]] std::string explain_host_search(const Executor& executor, const SearchTask& task, std::size_t queries,
                                              std::string_view reason);

}  // namespace vectis::inline v0_1::exact
