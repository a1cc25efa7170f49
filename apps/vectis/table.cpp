#include "vectis/table.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cstddef>

namespace vectis::app {

void print_table(std::ostream& out, const std::vector<Row>& rows, Columns columns) {
  std::vector<std::size_t> width(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  }
  for (const Row& row : rows) {
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
