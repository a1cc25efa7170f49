// Inserting rows into the graph, and removing tombstones from it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "search/graph/prune.hpp"
#include "search/graph/steps.hpp"
#include "search/graph/storage.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// A callback that a pass over rows calls after each batch, on the thread that began the pass, with the number of rows
// finished so far. An exception that it throws ends the pass.
using LinkProgress = std::function<void(std::size_t finished_rows)>;

// Links `slots`, which must be encoded and have empty lists, into a graph of `linked_rows` rows. Searches for
// neighbors start at `entry_points`, some of which may be among `slots`. Returns the work that it took. Throws what
// `progress` throws, and std::bad_alloc when memory is exhausted; then the rows of finished batches stay linked.
//
// Rows are inserted in batches of at most 1/32 of the graph. All rows of a batch search the graph as it was before
// the batch, then every chosen neighbor adds its back links, so that the result is the same for any number of
// threads. Concurrent searches are allowed; concurrent builds are not.
Work link_rows(Executor& executor, Graph& graph, std::span<const Slot> entry_points, std::span<const Slot> slots,
               std::size_t linked_rows, const LinkProgress& progress = {});

// Replaces links to tombstones by links to the tombstones' neighbors (FreshDiskANN's consolidation of deletes), row by
// row. Made once per thread and reused.
class DeleteConsolidator {
 public:
  // Throws std::bad_alloc when memory is exhausted.
  explicit DeleteConsolidator(const Graph& graph);
  // Replaces the links of `row`, and returns the work that it took. Throws what `is_tombstone` throws, and
  // std::bad_alloc; then the row is as before.
  Work consolidate(Slot row, const std::function<bool(Slot)>& is_tombstone);

 private:
  const Graph& graph_;
  PruneScratch prune_;
  std::vector<Slot> list_;
  std::vector<Slot> candidates_;
};

// Replaces the links of `rows` to tombstones, as DeleteConsolidator does. `rows` must be all rows that may link to
// tombstones, none a tombstone itself; `is_tombstone` is called from several threads. Throws what `progress` throws,
// and std::bad_alloc when memory is exhausted; then some rows are consolidated.
void consolidate_deletes(Executor& executor, Graph& graph, std::span<const Slot> rows,
                         const std::function<bool(Slot)>& is_tombstone, const LinkProgress& progress = {});

}  // namespace vectis::inline v0_1::graph
