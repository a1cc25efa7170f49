// Comma-separated values (RFC 4180) of numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/utf8.hpp"
#include "nn/parsed_file.hpp"
#include "vectis/array/tensor.hpp"
#include "vectis/nn/readers.hpp"

namespace vectis::inline v0_1::nn {

namespace {

constexpr std::string_view csv_op = "read_csv";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::size_t shown_bytes = 40;  // of a field, in messages

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Returns whether a decimal number other than 0 is between -1 and 1, by the position of its first digit other than 0.
bool is_below_one(std::string_view number) noexcept {
  const std::size_t exponent_at = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, exponent_at);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  // The power of ten of the first digit, without the exponent.
  const std::int64_t power =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first < point ? 1 : 0);
  std::string_view text = number.substr(std::min(exponent_at + 1, number.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error == std::errc::result_out_of_range) return text.starts_with('-');
  return exponent < -power;
}

// Returns the number that a field spells, such as "-1.5e3", "inf" or "NaN".
std::optional<float> number_of(std::string_view field) noexcept {
  field = trimmed(field);
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end != field.data() + field.size() || field.empty()) return std::nullopt;
  // Beyond double: infinity or 0, as for numbers beyond float.
  if (error == std::errc::result_out_of_range) {
    const double size = is_below_one(field) ? 0.0 : HUGE_VAL;
    value = field.front() == '-' ? -size : size;
  } else if (error != std::errc()) {
    return std::nullopt;
  }
  return static_cast<float>(value);
}

// Splits text into rows of fields.
class CsvRows {
 public:
  CsvRows(std::string_view text, char delimiter) : left_(text), delimiter_(delimiter) {
    if (left_.starts_with(byte_order_mark)) left_.remove_prefix(byte_order_mark.size());
  }

  // Fills `fields` with the next row that is not empty; returns false at the end. Throws CorruptData for a quote that
  // is not closed, or not followed by the end of its field.
  bool next(std::vector<std::string>& fields) {
    while (!left_.empty() && take_line_end()) {
    }
    if (left_.empty()) return false;
    line_ = next_line_;
    fields.clear();
    do {
      fields.push_back(field());
    } while (take(delimiter_));
    if (!left_.empty() && !take_line_end()) {
      throw_corrupt_file(csv_op, fmt::format("line {}, column {}: text follows a closing quote", line_, fields.size()));
    }
    return true;
  }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }  // of the row, from 1

 private:
  bool take(char c) noexcept {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  bool take_line_end() noexcept {
    if (left_.starts_with("\r\n")) left_.remove_prefix(1);
    if (!take('\n')) return false;
    ++next_line_;
    return true;
  }
  std::string field() {
    if (take('"')) return quoted();
    std::size_t end = 0;
    while (end < left_.size() && left_[end] != delimiter_ && left_[end] != '\n') ++end;
    std::string text(left_.substr(0, end));
    left_.remove_prefix(end);
    if (left_.starts_with('\n') && text.ends_with('\r')) text.pop_back();
    if (left_.empty() && text.ends_with('\r')) text.pop_back();
    return text;
  }
  std::string quoted() {
    std::string text;
    for (;;) {
      if (left_.empty()) throw_corrupt_file(csv_op, fmt::format("line {}: a quote is not closed", line_));
      const char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"' && !take('"')) return text;
      if (c == '\n') ++next_line_;
      text += c;
    }
  }

  std::string_view left_;
  char delimiter_;
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
};

void append_row(const std::vector<std::string>& fields, std::size_t line, const CsvOptions& options,
                std::vector<float>& values) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_missing = options.missing && trimmed(fields[i]).empty();
    const std::optional<float> value = is_missing ? options.missing : number_of(fields[i]);
    if (!value) {
      throw_corrupt_file(csv_op, fmt::format("line {}, column {}: '{}' is not a number", line, i + 1,
                                             detail::cut_utf8(fields[i], shown_bytes)));
    }
    values.push_back(*value);
  }
}

bool is_header(const std::vector<std::string>& fields, const CsvOptions& options) {
  if (options.header) return *options.header;
  return std::ranges::any_of(fields, [](const std::string& f) { return !trimmed(f).empty() && !number_of(f); });
}

void check_delimiter(char delimiter) {
  constexpr std::string_view in_numbers = "0123456789+-.eEinfatyINFATY\"\r\n";
  if (in_numbers.find(delimiter) == std::string_view::npos) return;
  throw Error(
      ErrorCode::invalid_input, csv_op,
      fmt::format("the delimiter has the code {}, which numbers, quotes and lines contain; use ',', ';' or a tab",
                  static_cast<int>(delimiter)));
}

}  // namespace

CsvTable parse_csv(std::string_view text, const CsvOptions& options) {
  check_delimiter(options.delimiter);
  CsvRows rows(text, options.delimiter);
  std::vector<std::string> fields;
  std::vector<float> values;
  CsvTable table;
  std::size_t width = 0;
  bool is_first = true;
  while (rows.next(fields)) {
    if (std::exchange(is_first, false)) {
      width = fields.size();
      if (is_header(fields, options)) {
        table.columns = fields;
        continue;
      }
    }
    if (fields.size() != width) {
      throw_corrupt_file(csv_op,
                         fmt::format("line {} has {} fields, the first row {}", rows.line(), fields.size(), width));
    }
    append_row(fields, rows.line(), options, values);
  }
  const auto columns = static_cast<std::int64_t>(width);
  const auto elements = static_cast<std::int64_t>(values.size());
  table.values = Tensor::from_cpu(values, {width == 0 ? 0 : elements / columns, columns});
  return table;
}

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  return parse_text_file(csv_op, path, [&](std::string_view text) { return parse_csv(text, options); });
}

std::int64_t CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns, name);
  if (found != columns.end()) return found - columns.begin();
  throw Error(ErrorCode::invalid_input, "column",
              fmt::format("'{}' is not one of the {} columns: {}", detail::cut_utf8(name, shown_bytes), columns.size(),
                          fmt::join(columns, ", ")));
}

}  // namespace vectis::inline v0_1::nn
