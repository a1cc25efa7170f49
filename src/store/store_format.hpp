// A vector store as bytes, but for its indexes: docs/formats/vector-store.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/collection_record.hpp"
#include "vectis/base/bytes.hpp"

namespace vectis::inline v0_1::detail {

// CorruptData of VectorStore::load.
[[noreturn]] void damaged_store(std::string_view what);

void write_store_header(ByteWriter& writer, std::uint64_t collections);
// How many collections follow. CorruptData, or Unsupported when a feature or the version is not known.
[[nodiscard]] std::uint64_t read_store_header(ByteReader& reader);

void write_record(ByteWriter& writer, const CollectionRecord& record);
// CorruptData unless it is one that create_collection could have made; the index is to be checked against it.
[[nodiscard]] CollectionRecord read_record(ByteReader& reader);

}  // namespace vectis::inline v0_1::detail
