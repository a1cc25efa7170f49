// What a collection is besides its vectors: what a file says of it, and what is refused.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/store/collection.hpp"

namespace vectis::inline v0_1::detail {

inline constexpr std::size_t text_bytes_max = 255;  // of names, tenants, kinds and devices

// A device as it can be known again on another day.
struct DeviceRecord {
  std::string label;  // "opencl:0"
  std::string name;   // "NVIDIA RTX 4090"
};

struct CollectionRecord {
  std::string name;
  CollectionConfig config;
  std::vector<DeviceRecord> devices;  // chosen when the collection was made; empty: this processor
  std::string reason;                 // why
};

// InvalidInput unless it is a name that VectorStore::create_collection takes.
void check_name(std::string_view op, std::string_view name);
// InvalidInput when recall, texts or limits are out of range; what an index checks is left to it.
void check_config(std::string_view op, const CollectionConfig& config);

}  // namespace vectis::inline v0_1::detail
