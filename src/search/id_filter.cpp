#include "vectis/search/id_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1 {

IdFilter IdFilter::sorted_list(std::span<const std::uint64_t> ids) {
  const auto descent = std::ranges::adjacent_find(ids, std::ranges::greater{});
  if (descent != ids.end()) {
    throw Error(ErrorCode::invalid_input, "IdFilter",
                fmt::format("id {} follows id {} at position {}, but the list must be in ascending order; sort it",
                            *(descent + 1), *descent, descent - ids.begin() + 1));
  }
  IdFilter filter;
  filter.values_ = ids;
  return filter;
}

IdFilter IdFilter::bitmap(std::span<const std::uint64_t> words, std::uint64_t first_id) noexcept {
  IdFilter filter;
  filter.kind_ = Kind::bitmap;
  filter.values_ = words;
  filter.first_ = first_id;
  return filter;
}

IdFilter IdFilter::range(std::uint64_t first, std::uint64_t last) noexcept {
  IdFilter filter;
  if (first > last) return filter;
  filter.kind_ = Kind::range;
  filter.first_ = first;
  filter.last_ = last;
  return filter;
}

IdFilter IdFilter::predicate(std::function<bool(std::uint64_t)> allows) {
  if (!allows) {
    throw Error(ErrorCode::invalid_input, "IdFilter",
                "the predicate is empty; pass a function, or leave the filter out");
  }
  IdFilter filter;
  filter.kind_ = Kind::predicate;
  filter.predicate_ = std::move(allows);
  return filter;
}

std::optional<std::uint64_t> IdFilter::count_max() const noexcept {
  switch (kind_) {
    case Kind::sorted_list:
      return values_.size();
    case Kind::bitmap: {
      std::uint64_t count = 0;
      for (const std::uint64_t word : values_) count += static_cast<std::uint64_t>(std::popcount(word));
      return count;
    }
    case Kind::range: {
      const std::uint64_t beyond_first = last_ - first_;
      return beyond_first == std::numeric_limits<std::uint64_t>::max() ? beyond_first : beyond_first + 1;
    }
    case Kind::predicate:
      return std::nullopt;
  }
  return std::nullopt;
}

bool IdFilter::for_each(std::uint64_t limit, const std::function<void(std::uint64_t)>& visit) const {
  const std::optional<std::uint64_t> count = count_max();
  if (!count || *count > limit) return false;
  if (kind_ == Kind::sorted_list) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (i == 0 || values_[i] != values_[i - 1]) visit(values_[i]);
    }
  } else if (kind_ == Kind::range) {
    for (std::uint64_t i = 0; i < *count; ++i) visit(first_ + i);
  } else {
    for (std::size_t word = 0; word < values_.size(); ++word) {
      for (std::uint64_t bits = values_[word]; bits != 0; bits &= bits - 1) {
        const std::uint64_t bit = word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
        if (bit > std::numeric_limits<std::uint64_t>::max() - first_) return true;  // ids end here
        visit(first_ + bit);
      }
    }
  }
  return true;
}

}  // namespace vectis::inline v0_1
