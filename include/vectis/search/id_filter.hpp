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

// The ids that a search may return: a sorted list, a bitmap, a range or a predicate. Ids are any 64-bit values;
// sparse ids, such as hashes, need a list, a range or a predicate. A filter does not copy a list or bitmap: its
// memory must outlive every search that uses the filter. Immutable; any number of threads may test ids at once.
//
//   std::vector<std::uint64_t> ids = ...;                  // ascending
//   index->search(query, 10, {.filter = IdFilter::sorted_list(ids)});
class VECTIS_API IdFilter {
 public:
  // Makes a filter that allows no id.
  IdFilter() = default;

  // Makes a filter that allows the ids of the list, which must be ascending (equal ids may repeat) and must outlive
  // the filter's searches. Throws InvalidInput when the list is not in ascending order.
  [[nodiscard]] static IdFilter sorted_list(std::span<const std::uint64_t> ids);
  // Makes a filter that allows id `first_id + i` when bit i of the words is set, counted from the lowest bit of the
  // first word. Allows no id outside of the bitmap and ignores bits beyond id 2^64 - 1. The words must outlive the
  // filter's searches. Does not throw.
  [[nodiscard]] static IdFilter bitmap(std::span<const std::uint64_t> words, std::uint64_t first_id = 0) noexcept;
  // Makes a filter that allows first <= id <= last, and no id when first > last. Does not throw.
  [[nodiscard]] static IdFilter range(std::uint64_t first, std::uint64_t last) noexcept;
  // Makes a filter that allows the ids for which the function returns true. The function must be safe to call from
  // several threads at once; a search rethrows what it throws. Throws InvalidInput for an empty function.
  [[nodiscard]] static IdFilter predicate(std::function<bool(std::uint64_t id)> allows);

  // Returns whether a search may return the id. The memory of a list or bitmap must still exist. Throws only what a
  // predicate throws.

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

  // Returns the largest possible number of allowed ids: list entries with repeats, set bits, or the range's size, at
  // most 2^64 - 1. Returns nullopt for a predicate, whose number of ids is unknown. Does not throw.
  [[nodiscard]] std::optional<std::uint64_t> count_max() const noexcept;
  // Calls `visit` for every allowed id once, in ascending order, and returns true. Returns false without a call when
  // the filter is a predicate or count_max() is above `limit`. Throws what `visit` throws.
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
