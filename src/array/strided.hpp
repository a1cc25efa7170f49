// Reading elements of strided views in row-major order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "array/node.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::array {

// A computed node in host memory whose elements are read in row-major order, with adjacent axes merged where their
// strides allow it. Immutable, thread-safe; refers to the node's memory.
class StridedReader {
 public:
  explicit StridedReader(const Node& node)
      : StridedReader(node.host_data(), node.element_bytes(), node.shape, node.all_strides()) {}
  StridedReader(const std::byte* data, std::size_t element_bytes, const Shape& shape, const Shape& strides);

  // Copies the elements [first, first + count) to `target`, without gaps.
  void read(std::int64_t first, std::int64_t count, std::byte* target) const;
  // Copies all elements to `target`, without gaps, on the executor's threads.
  void read_all(Executor& executor, std::byte* target) const;
  // Returns true when elements that are adjacent in memory are far apart in row-major order: read_all, which copies
  // tiles, is then faster than read.
  [[nodiscard]] bool is_transposed() const noexcept { return adjacent_.has_value(); }

 private:
  const std::byte* data_;
  std::size_t element_bytes_;
  Shape shape_;                          // merged; at least one axis
  Shape strides_;                        // in elements
  std::optional<std::size_t> adjacent_;  // an axis of stride 1, when the last one has another
};

// Returns a node's elements in row-major order without gaps: its own memory, or a copy in new storage, which `keep`
// then owns. Throws Allocation when memory is short.
const std::byte* contiguous_data(const Node& node, std::shared_ptr<Storage>& keep);

}  // namespace vectis::inline v0_1::array
