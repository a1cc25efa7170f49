// Linking rows into the graph.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "search/graph/graph.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::graph {

// Links rows that are encoded and not yet linked, beside `linked` rows that are. Rows are linked in batches, none of
// which is larger than a share of what is linked already: all rows of a batch look for neighbours in the graph as it
// was before the batch, then every row that got new neighbours takes them in. So the result is the same for any number
// of threads. Walks begin at `entries`, some of which may be rows that are not linked yet. Others may walk meanwhile.
void link_rows(Executor& executor, Graph& graph, std::span<const Slot> entries, std::span<const Slot> slots,
               std::size_t linked);

// Gives rows that are linked to removed ones other neighbours: those of the removed rows among them. `rows` are all
// that may have such links, none of them removed.
void relink_around(Executor& executor, Graph& graph, std::span<const Slot> rows,
                   const std::function<bool(Slot)>& removed);

}  // namespace vectis::inline v0_1::graph
