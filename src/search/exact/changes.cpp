#include "search/exact/changes.hpp"

#include <limits>
#include <numeric>

namespace vectis::inline v0_1::exact {

std::vector<std::uint64_t> next_ids(std::string_view op, std::optional<std::uint64_t> highest, std::size_t count) {
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (highest && count > last - *highest) {
    throw Error(ErrorCode::invalid_input, op,
                fmt::format("{} vectors after id {} would pass the largest id, {}; name their ids with add_with_ids",
                            count, *highest, last));
  }
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), highest ? *highest + 1 : 0);
  return ids;
}

void refuse_present(std::string_view op, std::uint64_t id) {
  throw Error(ErrorCode::invalid_input, op,
              fmt::format("id {} is there already; update it, remove it first, or choose another", id));
}

void refuse_absent(std::string_view op, std::uint64_t id) {
  throw Error(ErrorCode::invalid_input, op, fmt::format("id {} is not there; add it with add_with_ids", id));
}

}  // namespace vectis::inline v0_1::exact
