#include "base/utf8.hpp"

#include <cstdint>

namespace vectis::inline v0_1::detail {

namespace {

unsigned byte_at(std::string_view text, std::size_t at) noexcept { return static_cast<std::uint8_t>(text[at]); }

// Returns the bytes of the character at the beginning of `text`; 0 when there is none. The ranges are those of the
// Unicode Standard, table 3-7: only the second byte has others than 80..BF.
std::size_t character_bytes(std::string_view text) noexcept {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < bytes) return 0;
  const unsigned second_min = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned second_max = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(text, 1) < second_min || byte_at(text, 1) > second_max) return 0;
  for (std::size_t at = 2; at < bytes; ++at) {
    if (byte_at(text, at) < 0x80 || byte_at(text, at) > 0xBF) return 0;
  }
  return bytes;
}

}  // namespace

std::string_view cut_utf8(std::string_view text, std::size_t bytes_max) noexcept {
  if (text.size() <= bytes_max) return text;
  constexpr std::size_t continuation_max = 3;  // bytes of one character after its first
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; };
  for (std::size_t end = bytes_max; bytes_max - end <= continuation_max; --end) {
    if (!continues(text[end])) return text.substr(0, end);
    if (end == 0) break;
  }
  return text.substr(0, bytes_max);
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace vectis::inline v0_1::detail
