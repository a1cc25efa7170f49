// Rows that no path of links leads to from the entry points.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "search/graph/steps.hpp"
#include "search/graph/storage.hpp"

namespace vectis::inline v0_1::graph {

// Returns the rows below `row_count` for which `wanted` returns true and that a breadth-first search from
// `entry_points` does not reach. Throws std::bad_alloc.
[[nodiscard]] std::vector<Slot> unreachable_rows(const Graph& graph, std::span<const Slot> entry_points,
                                                 std::size_t row_count, const std::function<bool(Slot)>& wanted);

// Adds links to the rows that unreachable_rows returns: from the nearest rows with room for a link, or else from one
// that gives up its link to the row with the most links. `wanted` must be true for linked rows alone. Calls `stop`,
// which may be empty, now and then. Returns the number of rows that were unreachable. Concurrent searches are allowed;
// concurrent changes are not. Throws what `stop` throws, and std::bad_alloc; then some rows are linked.
std::size_t connect_unreachable(Graph& graph, std::span<const Slot> entry_points, std::size_t row_count,
                                const std::function<bool(Slot)>& wanted, const std::function<void()>& stop);

// Does the same in steps. Rows may be linked, removed and replaced in between: a row that becomes unreachable meanwhile
// may stay so. `wanted` is called for rows below `row_count` as they are then. `graph` must outlive the steps.
Steps connect_unreachable_in_steps(Graph* graph, std::vector<Slot> entry_points, std::size_t row_count,
                                   std::function<bool(Slot)> wanted);

}  // namespace vectis::inline v0_1::graph
