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

// Writes magic and `contents`, which must be those of `store`, in the format of docs/formats/graph-index.md, and
// reports progress in rows. Throws what the writer throws, such as Io, and Cancelled or DeadlineExceeded when
// `context` says so; then the bytes written so far are incomplete.
void save_graph(ByteWriter& writer, const GraphStore& store, const GraphContents& contents, Executor& executor,
                const Context& context);

// Reads a graph from a reader that is positioned after graph_magic. Throws CorruptData when the bytes are corrupt or
// too few, Unsupported when they need a feature that this version does not have, Allocation or std::bad_alloc when
// memory is exhausted, and Cancelled or DeadlineExceeded as `context` says. Allocates in proportion to the bytes
// read.
[[nodiscard]] std::unique_ptr<GraphStore> load_graph(ByteReader& reader, Executor& executor,
                                                     const Context& context = {});

// Makes a store that uses a mapped file in place and keeps it alive; only ids are copied to memory. The file must
// begin with graph_magic, not checked. Throws CorruptData when the file is corrupt, too short or too long, Unsupported
// when it needs a newer version, Allocation when memory is exhausted. Without `verify` it checks header, encoding, ids
// and size only: searching corrupt rows is then undefined behavior.
[[nodiscard]] std::unique_ptr<GraphStore> map_graph(std::shared_ptr<const MappedFile> file, bool verify,
                                                    Executor& executor);

// Throws CorruptData when two of the first `rows` rows have the same id. Takes time in proportion to `rows`, whatever
// the ids are. Throws std::bad_alloc when memory is exhausted.
void validate_unique_ids(const RowVersions& versions, std::size_t rows);

}  // namespace vectis::inline v0_1::graph
