// An exact index as bytes: docs/formats/exact-index.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "search/exact/segment_store.hpp"
#include "vectis/base/bytes.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::exact {

inline constexpr std::string_view exact_magic = "VECTISEX";  // its first bytes

void save_exact(ByteWriter& writer, std::string_view kind, Metric metric, std::size_t dim, const Snapshot& snapshot,
                const Context& context);

struct LoadedExact {
  std::string_view kind;  // "flat", "gpu" or "auto"
  std::unique_ptr<SegmentStore> store;
};

// Reads what follows the mark. CorruptData when the bytes are damaged, Unsupported when they need a feature this
// version has not. Memory grows with what was read, whatever the bytes promise.
[[nodiscard]] LoadedExact load_exact(ByteReader& reader, Executor& executor);

}  // namespace vectis::inline v0_1::exact
