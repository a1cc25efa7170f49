// Reads and writes the files of a graph index; the format is described in docs/formats/graph-index.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "search/graph/store.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/context.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::string_view graph_magic = "VECTISGR";  // the first bytes of a file

// Throws what the writer throws. Reports progress in rows, and throws Cancelled or DeadlineExceeded when `context` says
// so; what was written by then is incomplete.
void save_graph(ByteWriter& writer, const GraphStore& store, const GraphContents& contents, Executor& executor,
                const Context& context);

// Reads what follows the magic. Throws CorruptData when the bytes are corrupt, and Unsupported when they need a feature
// that this version does not have. Allocates in proportion to the bytes read, not to the sizes that a header claims.
[[nodiscard]] std::unique_ptr<GraphStore> load_graph(ByteReader& reader, Executor& executor,
                                                     const Context& context = {});

// Uses a file that begins with the magic in place; only ids are copied to memory. Throws as load_graph. Without
// `verify` it checks header, encoding and ids only: searching corrupt rows is then undefined behavior.
[[nodiscard]] std::unique_ptr<GraphStore> map_graph(std::shared_ptr<const MappedFile> file, bool verify,
                                                    Executor& executor);

}  // namespace vectis::inline v0_1::graph
