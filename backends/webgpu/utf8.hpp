#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace vectis::webgpu {

// Where the text stops being UTF-8; empty when it is.
inline std::optional<std::size_t> first_not_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char lead = byte(at);
    const std::size_t length = lead < 0x80U   ? 1
                               : lead < 0xC2U ? 0
                               : lead < 0xE0U ? 2
                               : lead < 0xF0U ? 3
                               : lead < 0xF5U ? 4
                                              : 0;
    if (length == 0 || at + length > text.size()) return at;
    std::uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t next = 1; next < length; ++next) {
      if ((byte(at + next) & 0xC0U) != 0x80U) return at;
      code = code << 6U | (byte(at + next) & 0x3FU);
    }
    const bool too_long = (length == 3 && code < 0x800U) || (length == 4 && code < 0x10000U);
    if (too_long || code > 0x10FFFFU || (code >= 0xD800U && code <= 0xDFFFU)) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace vectis::webgpu
