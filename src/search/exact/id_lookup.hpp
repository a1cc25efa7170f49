// Which row of a segment an id is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "search/exact/segment.hpp"

namespace vectis::inline v0_1::exact {

// Consecutive ids need only their first one; others a table that later copies share: the one thread that appends enters
// rows into it while readers with older views look. Cheap to copy.
class IdLookup {
 public:
  // Of a segment's first rows; it may grow up to `capacity`.
  IdLookup(std::span<const std::uint64_t> ids, std::size_t capacity);

  // The rows of `segment_ids` from `first_row` on are new; everything before is entered already.
  void append(std::span<const std::uint64_t> segment_ids, std::size_t first_row);

  // The row of `view` with this id that is not removed.
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
