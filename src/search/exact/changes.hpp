// What changes of every corpus have in common: ids, and words for what is refused.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <vector>

#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::exact {

// Runs a change; what the standard library says about memory becomes our own error.
template <class Change>
auto with_memory(std::string_view op, std::size_t bytes, Change change) {
  try {
    return change();
  } catch (const std::bad_alloc&) {
    throw Error(
        ErrorCode::allocation, op,
        fmt::format("no memory for a change of {} bytes, nothing was changed; change less at once, or compact", bytes));
  }
}

// `count` ids from one more than the highest ever used on. InvalidInput when they would pass the largest id.
[[nodiscard]] std::vector<std::uint64_t> next_ids(std::string_view op, std::optional<std::uint64_t> highest,
                                                  std::size_t count);

[[noreturn]] void refuse_present(std::string_view op, std::uint64_t id);
[[noreturn]] void refuse_absent(std::string_view op, std::uint64_t id);

}  // namespace vectis::inline v0_1::exact
