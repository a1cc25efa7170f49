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

void save_exact(ByteWriter& writer, std::string_view kind, Metric metric, std::size_t dim, const Snapshot& snapshot,
                const Context& context);

struct LoadedExact {
  std::string_view kind;  // "flat", "gpu" or "auto"
  std::unique_ptr<SegmentStore> store;
};

// Reads what follows the magic. Throws CorruptData when the bytes are corrupt, Unsupported when they need a feature
// that this version does not have. Allocates in proportion to the bytes read, not to the sizes that a header claims.
[[nodiscard]] LoadedExact load_exact(ByteReader& reader, Executor& executor, const Context& context);

}  // namespace vectis::inline v0_1::exact
