// Host arrays in memory that the CPU backend's operations can access: that of the pool.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "array/dry_run.hpp"
#include "array/lane.hpp"
#include "array/node.hpp"
#include "array/strided.hpp"

namespace vectis::inline v0_1::array {

// Memory of at least `bytes` bytes that the backend can access: beyond what is stored inline, it comes from the pool.
inline std::shared_ptr<Storage> allocate_in_pool(Lane& lane, std::uint64_t bytes) {
  return lane.allocate(std::max<std::uint64_t>(bytes, Storage::inline_bytes + 1));
}

// Elements in row-major order in memory of the pool: the node's own, or a copy.
struct PooledElements {
  explicit PooledElements(const Node& node) : storage(node.storage), offset(node.offset) {
    if (node.is_contiguous && storage->buffer) return;
    std::shared_ptr<Storage> copy;
    const std::byte* const data = contiguous_data(node, copy);
    offset = 0;
    storage = copy;
    if (copy != nullptr && copy->buffer) return;
    const auto bytes = static_cast<std::uint64_t>(node.elements()) * node.element_bytes();
    storage = allocate_in_pool(*node.lane, bytes);
    std::memcpy(storage->host, data, bytes);
  }
  // Returns the elements of a float32 array.
  [[nodiscard]] const float* floats() const noexcept { return reinterpret_cast<const float*>(storage->host) + offset; }

  std::shared_ptr<Storage> storage;
  std::int64_t offset;
};

// Memory as allocate_in_pool() returns it, in a dry run.
inline std::shared_ptr<Storage> workspace_in_pool(DryRun& run, const Lane& lane, std::uint64_t bytes) {
  return run.workspace(lane, std::max<std::uint64_t>(bytes, Storage::inline_bytes + 1));
}
// The copy that PooledElements makes; null: none.
inline std::shared_ptr<Storage> pooled_copy(DryRun& run, const Node& node) {
  if (node.is_contiguous && is_in_pool(*node.storage)) return nullptr;
  return workspace_in_pool(run, *node.lane, static_cast<std::uint64_t>(node.elements()) * node.element_bytes());
}

}  // namespace vectis::inline v0_1::array
