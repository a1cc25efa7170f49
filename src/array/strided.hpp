// Reading elements of strided views in row-major order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "array/node.hpp"
#include "array/wide.hpp"
#include "vectis/array/shape.hpp"
#include "vectis/base/executor.hpp"

namespace vectis::inline v0_1::array {

// The axes of a strided array, adjacent ones merged where their strides allow it, and without those of extent 1. At
// least one axis.
struct MergedAxes {
  MergedAxes(const Shape& extents, const Shape& strides_of_extents);
  Shape shape;
  Shape strides;  // in elements
};

// Returns an axis of stride 1 of merged strides whose last one is larger: elements that are adjacent in memory are then
// far apart in row-major order.
[[nodiscard]] std::optional<std::size_t> adjacent_axis(const Shape& strides);

// A computed node in host memory whose elements are read in row-major order. Immutable, thread-safe; refers to the
// node's memory.
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
  MergedAxes axes_;
  std::optional<std::size_t> adjacent_;  // an axis of stride 1, when the last one has another
};

// Returns a node's elements in row-major order without gaps: its own memory, or a copy in new storage, which `keep`
// then owns. Throws Allocation when memory is short.
const std::byte* contiguous_data(const Node& node, std::shared_ptr<Storage>& keep);

// Returns a computed node's elements as wide values in row-major order. Throws Allocation and std::bad_alloc when
// memory is short.
template <class Wide>
[[nodiscard]] std::vector<Wide> wide_values(const Node& node) {
  std::vector<Wide> values(static_cast<std::size_t>(node.elements()));
  std::shared_ptr<Storage> keep;
  if (!values.empty()) load_wide(node.type, contiguous_data(node, keep), values.size(), values.data());
  return values;
}

// Returns the bounds of the elements of an integer type, nothing for other types and for no elements.
[[nodiscard]] std::optional<Bounds> bounds_of(DType type, std::span<const std::byte> elements);

}  // namespace vectis::inline v0_1::array
