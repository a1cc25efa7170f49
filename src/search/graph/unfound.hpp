// Rows that a search for their own vector does not find.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "search/graph/beam_search.hpp"
#include "search/graph/steps.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Searches for each of `rows` by its own codes from `entry_points`, with a short beam, and links those that are not
// found from the nearest row that is: searches that expand more then find them as well. `rows` must be linked. Where
// many rows need links from the same few, some are not found afterwards either. Calls `stop`, which may be empty, now
// and then. Returns the number of rows that were not found before. The same for any number of threads. Concurrent
// searches are allowed; concurrent changes are not. Throws what `stop` throws, and std::bad_alloc; then some rows are
// linked.
std::size_t link_unfound(Executor& executor, Graph& graph, std::span<const Slot> entry_points,
                         std::span<const Slot> rows, const std::function<void()>& stop);

// Does the same for one row, and returns the work that it took. Concurrent searches are allowed; concurrent changes are
// not. Throws std::bad_alloc; then the row may be linked.
Work link_unfound_row(Graph& graph, std::span<const Slot> entry_points, Slot row, SearchScratch& scratch);

}  // namespace vectis::inline v0_1::graph
