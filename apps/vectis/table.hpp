// Tables for a terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace vectis::app {

using Row = std::vector<std::string>;

// Alignment of the columns after the first: `text` to the left, `numbers` to the right. The first is always
// left-aligned.
enum class Columns : std::uint8_t { text, numbers };

// Prints the rows with columns two spaces apart, each as wide as its widest cell, without trailing spaces. The first
// row is the heading. Precondition: there is at least one row, and no row has more cells than the first.
void print_table(std::ostream& out, const std::vector<Row>& rows, Columns columns);

}  // namespace vectis::app
