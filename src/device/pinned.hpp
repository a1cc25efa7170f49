// Pinned memory of a context, by hand.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cores.hpp"

namespace vectis::inline v0_1::detail {

// Null where the backend has none, or no more.
std::byte* pin(ContextCore& context, std::uint64_t bytes);
void unpin(const ContextCore& context, std::byte* pinned) noexcept;

}  // namespace vectis::inline v0_1::detail
