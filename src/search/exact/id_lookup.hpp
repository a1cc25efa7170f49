// Finds the row of an id in a segment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "search/exact/segment.hpp"

namespace vectis::inline v0_1::exact {

// Consecutive ids need only their first one, others a hash table. Copies share the table: the writer enters rows while
// readers of older views look ids up, without locks. Cheap to copy.
class IdLookup {
 public:
  // `ids` are those of the first rows of a segment that may grow to `capacity`.
  IdLookup(std::span<const std::uint64_t> ids, std::size_t capacity);

  // Enters the rows of `segment_ids` from `first_row` on.
  void append(std::span<const std::uint64_t> segment_ids, std::size_t first_row);

  // The live row of `view` with this id.
  [[nodiscard]] std::optional<std::size_t> find(const SegmentView& view, std::uint64_t id) const noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  struct Table;
  void enter(std::span<const std::uint64_t> segment_ids, std::size_t first_row) noexcept;

  std::size_t capacity_;
  std::uint64_t lowest_;
  std::uint64_t highest_;
  std::shared_ptr<Table> table_;  // null: row r has the id lowest_ + r
};

}  // namespace vectis::inline v0_1::exact
