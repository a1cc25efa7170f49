// Checks UTF-8 text, and shortens it for messages.
#pragma once

#include <cstddef>
#include <string_view>

#include "vectis/base/export.hpp"

namespace vectis::inline v0_1::detail {

// Returns the longest prefix of `text` of at most `bytes_max` bytes that does not end inside a UTF-8 character. Text
// that is not UTF-8 is cut within 3 bytes of `bytes_max`. Does not throw.
[[nodiscard]] VECTIS_API std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) noexcept;

// Returns true when `text` is UTF-8 as Unicode defines it: no surrogates, nothing beyond U+10FFFF, and each character
// in its shortest form. Does not throw.
[[nodiscard]] VECTIS_API bool is_utf8(std::string_view text) noexcept;

}  // namespace vectis::inline v0_1::detail
