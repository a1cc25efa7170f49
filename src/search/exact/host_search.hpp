// Exact search over segments on the host CPU.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "search/exact/search_task.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::exact {

// Returns the task.k nearest rows of each query by exact_distance, found on the host CPU with all threads. `kernel`
// is "auto" or the name of a scan kernel. Preconditions: task.options is set, all segments have one precision. Throws
// InvalidInput when that kernel does not exist or does not run on this CPU, Cancelled or DeadlineExceeded as the
// options' context says, and what the filter's predicate throws.
[[nodiscard]] ExactAnswer host_search(Executor& executor, const SearchTask& task, std::string_view kernel = "auto");

// Returns one line for people that says how host_search would search `queries` queries: threads and usable kernels.
// Does not search; the task's queries and options may be empty.
[[nodiscard]] std::string explain_host_search(const Executor& executor, const SearchTask& task, std::size_t queries,
                                              std::string_view reason);

}  // namespace vectis::inline v0_1::exact
