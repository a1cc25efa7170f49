// Saves and loads exact indexes: docs/formats/exact-index.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "search/exact/segment_store.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::exact {

inline constexpr std::string_view exact_magic = "VECTISEX";  // the first bytes of a file

// Writes magic, header and all live vectors of the snapshot in the format of docs/formats/exact-index.md. Between
// blocks reports progress to `context`, whose deadline is one of `executor`. `kind` must be "flat", "gpu" or "auto".
// Throws what the writer throws, such as Io, and Cancelled or DeadlineExceeded as the context says; then the bytes
// written so far are incomplete.
void save_exact(ByteWriter& writer, std::string_view kind, Metric metric, std::size_t dim, const Snapshot& snapshot,
                const Executor& executor, const Context& context);

// The contents of a file of an exact index: its kind and its vectors.
struct LoadedExact {
  std::string_view kind;  // "flat", "gpu" or "auto"
  std::unique_ptr<SegmentStore> store;
};

// Reads an exact index from a reader that is positioned after exact_magic. Throws CorruptData when the bytes are
// corrupt or too few, Unsupported when they need a feature that this version does not have, Allocation or
// std::bad_alloc when memory is exhausted, and Cancelled or DeadlineExceeded as `context` says. Allocates in
// proportion to the bytes read.
[[nodiscard]] LoadedExact load_exact(ByteReader& reader, Executor& executor, const Context& context);

}  // namespace vectis::inline v0_1::exact
