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

// Identifies a device across restarts and machines.
struct DeviceRecord {
  std::string label;  // "opencl:0"
  std::string name;   // "NVIDIA RTX 4090"
};

// Everything a collection has besides its vectors. Never changes after create_collection.
struct CollectionRecord {
  std::string name;
  CollectionConfig config;
  std::vector<DeviceRecord> devices;  // selected when the collection was created; empty: the CPU
  std::string reason;                 // why these devices were selected
};

// Throws InvalidInput unless `name` is 1 to 255 letters, digits, '_', '-' and '.', and begins with none of '-' and '.'.
void check_name(std::string_view op, std::string_view name);
// Throws InvalidInput when the recall or the length of a text is out of range. make_index checks the other fields.
void check_config(std::string_view op, const CollectionConfig& config);

// Throws CorruptData as VectorStore::load.
[[noreturn]] void throw_corrupt_store(std::string_view what);

void write_store_header(ByteWriter& writer, std::uint64_t collections);
// Returns the number of collections that follow. Throws CorruptData, or Unsupported for an unknown version or feature.
[[nodiscard]] std::uint64_t read_store_header(ByteReader& reader);
void write_record(ByteWriter& writer, const CollectionRecord& record);
// Throws CorruptData for a record that create_collection cannot have made. Whether the index that follows matches the
// record is checked by VectorStore::load.
[[nodiscard]] CollectionRecord read_record(ByteReader& reader);

}  // namespace vectis::inline v0_1::detail
