// Tables for a terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace vectis::app {

using Row = std::vector<std::string>;

// Alignment of the columns after the first: `text` to the left, `numbers` to the right. The first column is always
// left-aligned.
enum class Columns : std::uint8_t { text, numbers };

// Returns `text` with every character that could control a terminal replaced by `?`: control characters, those of
// 8 bits and in UTF-8 too, but for the characters in `kept`, and the marks that change the direction of text. Names in
// files and of devices are untrusted.
std::string printable(std::string_view text, std::string_view kept = {});

// Prints the rows with columns two spaces apart, each as wide as its widest cell, without trailing spaces; the first
// row is the heading. Cells are made printable(). There must be at least one row, no row may be empty or have more
// cells than the first; this is not checked.
void print_table(std::ostream& out, const std::vector<Row>& rows, Columns columns);

}  // namespace vectis::app
