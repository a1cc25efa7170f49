// The file format of a vector store without its indexes, described in docs/formats/vector-store.md: the header, and the
// record of each collection with the limits that a record must keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/base/bytes.hpp"
#include "vectis/store/collection.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::size_t text_bytes_max = 255;  // limit of names, tenants, index kinds, device labels and names

// Identifies a device across restarts and machines, in the file of a vector store.
struct DeviceRecord {
  std::string label;  // "opencl:0"
  std::string name;   // "NVIDIA RTX 4090"
};

// Everything that a file stores of a collection besides its index. Never changes after create_collection.
struct CollectionRecord {
  std::string name;
  CollectionConfig config;
  std::vector<DeviceRecord> devices;  // selected when the collection was created; empty: the CPU
  std::string reason;                 // why these devices were selected
};

// Throws InvalidInput, naming the operation `op`, unless `name` has 1 to 255 letters, digits, '_', '-' and '.', and
// does not begin with '-' or '.'.
void check_name(std::string_view op, std::string_view name);
// Throws InvalidInput, naming the operation `op`, when the tenant, index kind or device has more than 255 bytes, or
// the recall is not above 0 and at most 1. make_index checks the other fields.
void check_config(std::string_view op, const CollectionConfig& config);

// Throws CorruptData of the operation "load"; `what` states what is wrong with the file.
[[noreturn]] void throw_corrupt_store(std::string_view what);

// Writes the magic, the version and the number of collections that follow, which must be at most
// VectorStore::collections_max. Throws what `writer` throws.
void write_store_header(ByteWriter& writer, std::uint64_t collections);
// Reads the header of a store and returns the number of collections that follow. Throws CorruptData for a wrong
// magic, a wrong checksum or too many collections, Unsupported for an unknown version or feature, and what `reader`
// throws.
[[nodiscard]] std::uint64_t read_store_header(ByteReader& reader);
// Writes the record of one collection, which must have passed check_name and check_config. Throws what `writer`
// throws.
void write_record(ByteWriter& writer, const CollectionRecord& record);
// Reads the record of one collection and leaves `reader` at the first byte of the collection's index, which the caller
// loads. Throws CorruptData for a wrong checksum, an unknown metric or precision, or a name or configuration that
// create_collection would reject, and what `reader` throws.
[[nodiscard]] CollectionRecord read_record(ByteReader& reader);

}  // namespace vectis::inline v0_1::detail
