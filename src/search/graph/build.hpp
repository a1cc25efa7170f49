// Inserting rows into the graph, and removing tombstones from it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "search/graph/storage.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Called after each batch with the number of rows linked so far, from the thread that builds. May throw to stop.
using LinkProgress = std::function<void(std::size_t linked_rows)>;

// Links `slots`, which are encoded and have empty lists, into a graph of `linked_rows` rows. Searches start at
// `entry_points`, some of which may be among `slots`.
//
// Rows are inserted in batches of at most 1/32 of the graph. All rows of a batch search the graph as it was before the
// batch, then every chosen neighbor adds its back links, so that the result is the same for any number of threads.
// Concurrent searches are allowed; concurrent builds are not. When `progress` throws, the rows of finished batches stay
// linked.
void link_rows(Executor& executor, Graph& graph, std::span<const Slot> entry_points, std::span<const Slot> slots,
               std::size_t linked_rows, const LinkProgress& progress = {});

// Replaces links to tombstones by links to the tombstones' neighbors (FreshDiskANN's consolidation of deletes). `rows`
// are all rows that may link to tombstones; none is a tombstone itself.
void consolidate_deletes(Executor& executor, Graph& graph, std::span<const Slot> rows,
                         const std::function<bool(Slot)>& is_tombstone);

}  // namespace vectis::inline v0_1::graph
