#include "html.hpp"

namespace vectis::python {
namespace {

std::string html_row(const TableRow& cells, std::string_view tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) {
    row.append("<").append(tag).append(" style=\"text-align: left\">").append(escape_html(cell));
    row.append("</").append(tag).append(">");
  }
  return row + "</tr>";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string html_table(const TableRow& head, const std::vector<TableRow>& rows) {
  std::string table = "<table>";
  if (!head.empty()) table += "<thead>" + html_row(head, "th") + "</thead>";
  table += "<tbody>";
  for (const TableRow& row : rows) table += html_row(row, "td");
  return table + "</tbody></table>";
}

}  // namespace vectis::python
