// Which ids a search may return.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1 {

// A set of allowed ids: a sorted list, a bitmap, a range or a predicate. Ids are any 64-bit values; sparse ones, such
// as hashes, work with a list, a range or a predicate. A list or bitmap is a view: its memory must outlive the search.
// Immutable; any number of threads may test ids at once.
//
//   std::vector<std::uint64_t> ids = ...;                  // ascending
//   index->search(query, 10, {.filter = IdFilter::sorted_list(ids)});
class VECTIS_API IdFilter {
 public:
  // Allows no id.
  IdFilter() = default;

  // Allows the ids of the list. Throws InvalidInput when the list is not in ascending order; equal ids may repeat.
  [[nodiscard]] static IdFilter sorted_list(std::span<const std::uint64_t> ids);
  // Bit i of the words, lowest bit of the first word first, stands for id `first_id + i`. Ids outside of the bitmap are
  // not allowed; bits that would stand for ids above 2^64 - 1 are ignored.
  [[nodiscard]] static IdFilter bitmap(std::span<const std::uint64_t> words, std::uint64_t first_id = 0) noexcept;
  // Allows first <= id <= last; no id when first > last.
  [[nodiscard]] static IdFilter range(std::uint64_t first, std::uint64_t last) noexcept;
  // Allows the ids for which the function returns true. The search calls it from several threads at once; what it
  // throws leaves the search. Throws InvalidInput for an empty function.
  [[nodiscard]] static IdFilter predicate(std::function<bool(std::uint64_t id)> allows);

  [[nodiscard]] bool allows(std::uint64_t id) const {
    switch (kind_) {
      case Kind::sorted_list:
        return std::ranges::binary_search(values_, id);
      case Kind::bitmap: {
        const std::uint64_t bit = id - first_;
        return id >= first_ && bit / 64 < values_.size() && ((values_[bit / 64] >> (bit % 64)) & 1U) != 0;
      }
      case Kind::range:
        return id >= first_ && id <= last_;
      case Kind::predicate:
        return predicate_(id);
    }
    return false;
  }

  // At most this many ids are allowed; empty when that is unknown (a predicate).
  [[nodiscard]] std::optional<std::uint64_t> count_max() const noexcept;
  // Calls `visit` for every allowed id in ascending order. Does nothing and returns false when there are more than
  // `limit` of them or the filter is a predicate.
  bool for_each(std::uint64_t limit, const std::function<void(std::uint64_t id)>& visit) const;

 private:
  enum class Kind : std::uint8_t { sorted_list, bitmap, range, predicate };

  Kind kind_ = Kind::sorted_list;
  std::span<const std::uint64_t> values_;  // ids of the list, or words of the bitmap
  std::uint64_t first_ = 0;                // id of the first bit, or of the range
  std::uint64_t last_ = 0;                 // of the range
  std::function<bool(std::uint64_t)> predicate_;
};

}  // namespace vectis::inline v0_1
