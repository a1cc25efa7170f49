// Columns of text for a terminal.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace vectis::app {

using Row = std::vector<std::string>;

// How columns after the first flush; the first is always text and flushes left.
enum class Columns : std::uint8_t { text, numbers };

// Every column as wide as its widest cell, two spaces apart, nothing behind the last. The first row is the heading.
void print_table(std::ostream& out, const std::vector<Row>& rows, Columns columns);

}  // namespace vectis::app
