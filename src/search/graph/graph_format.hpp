// A graph index as bytes: docs/formats/graph-index.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "search/graph/corpus.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/executor.hpp"
#include "vectis/base/pages.hpp"

namespace vectis::inline v0_1::graph {

inline constexpr std::string_view graph_mark = "VECTISGR";  // its first bytes

void save_graph(ByteWriter& writer, Metric distance, std::size_t dim, const GraphShape& shape,
                const Contents& contents);

// Reads what follows the mark. CorruptData when the bytes are damaged, Unsupported when they need a feature this
// version has not. Memory grows with what was read, whatever the bytes promise.
[[nodiscard]] std::unique_ptr<Corpus> load_graph(ByteReader& reader, Executor& executor);

// A file that begins with the mark, used where it is: only ids are brought to memory. Errors as above; without `verify`
// nothing is looked at but header, frame and ids, and rows that are damaged are as good as any address.
[[nodiscard]] std::unique_ptr<Corpus> map_graph(std::shared_ptr<const MappedFile> file, bool verify,
                                                Executor& executor);

}  // namespace vectis::inline v0_1::graph
