// Tables for notebooks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vectis::python {

using TableRow = std::vector<std::string>;

// Returns `text` with the characters that HTML gives a meaning replaced.
std::string escape_html(std::string_view text);
// Returns a table; all texts are escaped. `head` may be empty.
std::string html_table(const TableRow& head, const std::vector<TableRow>& rows);

}  // namespace vectis::python
