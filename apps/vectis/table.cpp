#include "vectis/table.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cstddef>

namespace vectis::app {

namespace {

// The bytes of a control character or a mark of direction at the start of `text`; 0 for other characters.
std::size_t control_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) < 0x20 || byte(0) == 0x7F) return 1;
  if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return 2;                      // U+0080 to U+009F
  if (byte(0) == 0xE2 && byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE) return 3;  // U+202A to U+202E
  if (byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9) return 3;  // U+2066 to U+2069
  return byte(0) >= 0x80 && byte(0) < 0xC0 ? 1 : 0;  // a byte that starts no character: some terminals take 8 bits
}

// The bytes of the UTF-8 character at the start of `text`, which is neither empty nor starts with a tail byte.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first >= 0xF8 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  std::size_t bytes = 1;
  while (bytes < std::min(length, text.size()) && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) ++bytes;
  return bytes;
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string result;
  while (!text.empty()) {
    const bool keep = kept.find(text.front()) != std::string_view::npos;
    const std::size_t control = keep ? 0 : control_bytes(text);
    const std::size_t bytes = control != 0 ? control : character_bytes(text);
    result += control != 0 ? std::string_view("?") : text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}

void print_table(std::ostream& out, const std::vector<Row>& rows, Columns columns) {
  std::vector<Row> shown = rows;
  for (Row& row : shown) {
    for (std::string& cell : row) cell = printable(cell);
  }
  std::vector<std::size_t> width(shown.front().size());
  for (const Row& row : shown) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  for (const Row& row : shown) {
    std::string line = fmt::format("{:<{}}", row[0], width[0]);
    for (std::size_t i = 1; i < row.size(); ++i) {
      line += columns == Columns::text ? fmt::format("  {:<{}}", row[i], width[i])
                                       : fmt::format("  {:>{}}", row[i], width[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print(out, "{}\n", line);
  }
}

}  // namespace vectis::app
