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

// Finds the row of an id in one segment: by subtraction when the ids are consecutive, else with a hash table. Copies
// share the table: one writer appends rows while readers of older views look ids up, without locks. Cheap to copy.
class IdLookup {
 public:
  // Enters `ids`, those of the first rows of a segment that may grow to `capacity` rows. Preconditions, not checked:
  // at least one id, at most `capacity`. Throws std::bad_alloc when memory is exhausted.
  IdLookup(std::span<const std::uint64_t> ids, std::size_t capacity);

  // Enters the rows of `segment_ids`, all ids of the segment, from `first_row` on; earlier rows must be entered
  // already, and all must fit the capacity. One thread at a time. Throws std::bad_alloc when memory is exhausted.
  void append(std::span<const std::uint64_t> segment_ids, std::size_t first_row);

  // Returns the row of `view` that has this id and no tombstone, or nullopt when there is none. `view` must be a view
  // of the segment whose ids were entered. Does not throw.
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
