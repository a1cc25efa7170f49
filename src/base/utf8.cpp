#include "base/utf8.hpp"

namespace vectis::inline v0_1::detail {

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

}  // namespace vectis::inline v0_1::detail
