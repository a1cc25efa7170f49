#include "kernel/ir/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include "kernel/ir/opcodes.hpp"
#include "vectis/base/error.hpp"

namespace vectis::inline v0_1::ir {

namespace {

// Writes the format of docs/formats/ir-text.md. Values and loops are numbered in the order of the text, so that equal
// functions have equal texts regardless of the order of `instructions`.
class Writer {
 public:
  explicit Writer(const Function& function) : function_(function), number_(function.instructions.size()) {}

  std::string run() {
    line(text_header);
    line(fmt::format("function {}", function_.name));
    list("inputs", function_.inputs);
    list("tables", function_.tables);
    list("arguments", function_.arguments);
    block(function_.body);
    for (const Output& output : function_.outputs)
      line(fmt::format("output {} {}", short_name(output.element), value(output.value)));
    line("end");
    return std::move(text_);
  }

 private:
  void line(std::string_view what) {
    text_.append(2 * depth_, ' ');
    text_ += what;
    text_ += '\n';
  }

  template <class Kinds>
  void list(std::string_view word, const Kinds& kinds) {
    if (kinds.empty()) return;
    std::string all(word);
    for (const auto kind : kinds) all += fmt::format(" {}", short_name(kind));
    line(all);
  }

  [[nodiscard]] std::string value(Id id) const { return fmt::format("%{}", number_[id]); }
  [[nodiscard]] std::string values(const std::vector<Id>& ids) const {
    std::string all;
    for (const Id id : ids) all += ' ' + value(id);
    return all;
  }

  void block(const Block& ids) {
    for (const Id id : ids) {
      number_[id] = next_++;
      const Instruction& one = function_.instructions[id];
      if (one.op == Op::loop) {
        loop(id, function_.loops[one.immediate]);
      } else {
        line(fmt::format("{} = {} {}{}", value(id), name(one.op), short_name(one.type), rest(one)));
      }
    }
  }

  void loop(Id id, const Loop& one) {
    line(fmt::format("{} = loop {}{} {{", value(id), value(one.trip_count), values(one.initial)));
    ++depth_;
    block(one.body);
    --depth_;
    line(fmt::format("}}{}", values(one.next)));
  }

  [[nodiscard]] std::string rest(const Instruction& one) const {
    if (one.op == Op::constant) return ' ' + constant_text(one.type, one.immediate);
    if (one.op == Op::input || one.op == Op::argument) return fmt::format(" {}", one.immediate);
    std::string all;
    for (std::size_t i = 0; i < operand_count(one.op); ++i) all += ' ' + value(one.operands[i]);
    if (one.op == Op::gather || one.op == Op::result || one.op == Op::carried) all += fmt::format(" {}", one.immediate);
    return all;
  }

  const Function& function_;
  std::vector<std::uint32_t> number_;
  std::uint32_t next_ = 0;
  std::size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string constant_text(DType type, std::uint32_t bits) {
  if (type == DType::boolean) return bits != 0 ? "true" : "false";
  if (type == DType::uint32) return fmt::format("{}", bits);
  if (type == DType::int32) return fmt::format("{}", static_cast<std::int32_t>(bits));
  const auto real = std::bit_cast<float>(bits);
  if (std::isnan(real)) return fmt::format("0x{:08x}", bits);
  return fmt::format("{}", real);  // the shortest that parses back to the same bits; inf and -inf
}

std::string to_text(const Function& function) {
  verify(function);
  return Writer(function).run();
}

namespace {

constexpr std::size_t quoted_max = 40;               // characters of the offending text that a message quotes
constexpr std::size_t instructions_max = 1U << 20U;  // bounds the memory a hostile text can use
constexpr std::string_view blanks = " \t\r";

template <class Number>
std::optional<Number> whole(std::string_view text, int base = 10) {
  Number value{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Word {
  std::string_view text;
  std::size_t column = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Function run() {
    if (!next_line() || line_text_ != text_header)
      fail(1, fmt::format("the text does not begin with '{}'", text_header));
    need_line("function NAME");
    expect_word("function");
    const Word name = word("a name");
    if (!is_function_name(name.text))
      fail(name.column, fmt::format("{} is not a valid name; use [a-z][a-z0-9_]*", quoted(name.text)));
    function_.name = name.text;
    end_of_line();
    need_line("instructions and 'end'");
    interface();
    block(&function_.body, 0);
    outputs();
    if (next_line()) fail(1, "unexpected text after 'end'");
    check();
    return std::move(function_);
  }

 private:
  // --- lines and words
  [[noreturn]] void fail(std::size_t column, const std::string& what) const {
    throw Error(ErrorCode::invalid_input, "ir.from_text", fmt::format("line {}, column {}: {}", line_, column, what));
  }
  static std::string quoted(std::string_view text) {
    std::string result = "'";
    for (const char one : text.substr(0, quoted_max)) result += one >= ' ' && one <= '~' ? one : '?';
    return result + (text.size() > quoted_max ? "...'" : "'");
  }

  // Advances to the next line with words; skips comments and empty lines.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      std::string_view now = rest_.substr(0, end);
      rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
      ++line_;
      now = now.substr(0, now.find('#'));
      if (now.find_first_not_of(blanks) == std::string_view::npos) continue;
      const std::size_t last = now.find_last_not_of(blanks);
      line_text_ = now.substr(0, last + 1);
      at_ = 0;
      return true;
    }
    return false;
  }
  void need_line(std::string_view what) {
    if (!next_line()) {
      ++line_;
      fail(1, fmt::format("unexpected end of the text; expected {}", what));
    }
  }

  Word peek() {
    at_ = std::min(line_text_.find_first_not_of(blanks, at_), line_text_.size());
    const std::size_t end = std::min(line_text_.find_first_of(blanks, at_), line_text_.size());
    return {line_text_.substr(at_, end - at_), at_ + 1};
  }
  Word word(std::string_view what) {
    const Word one = peek();
    if (one.text.empty()) fail(one.column, fmt::format("{} is missing", what));
    at_ += one.text.size();
    return one;
  }
  void expect_word(std::string_view text) {
    const Word one = word(fmt::format("'{}'", text));
    if (one.text != text) fail(one.column, fmt::format("expected '{}', found {}", text, quoted(one.text)));
  }
  void end_of_line() {
    const Word one = peek();
    if (!one.text.empty()) fail(one.column, fmt::format("unexpected {}", quoted(one.text)));
  }
  std::uint32_t number(std::string_view what) {
    const Word one = word(what);
    const auto value = whole<std::uint32_t>(one.text);
    if (!value) fail(one.column, fmt::format("{} is not a valid {}", quoted(one.text), what));
    return *value;
  }
  // Parses "%7", a value defined above. Other errors are found by verify.
  Id value() { return to_value(word("a value")); }
  Id to_value(const Word& one) const {
    const auto id = one.text.starts_with('%') ? whole<std::uint32_t>(one.text.substr(1)) : std::nullopt;
    if (!id) fail(one.column, fmt::format("{} is not a value; values are written %number", quoted(one.text)));
    if (*id >= function_.instructions.size())
      fail(one.column, fmt::format("{} is used before it is computed", quoted(one.text)));
    return *id;
  }
  template <class Kind>
  Kind kind(std::optional<Kind> (*parse)(std::string_view) noexcept, std::string_view what) {
    const Word one = word(what);
    const auto found = parse(one.text);
    if (!found) fail(one.column, fmt::format("{} is not a valid {}", quoted(one.text), what));
    return *found;
  }

  // --- the function
  template <class Kind>
  void list(std::string_view heading, std::vector<Kind>* kinds, std::optional<Kind> (*parse)(std::string_view) noexcept,
            std::string_view what) {
    if (peek().text != heading) return;
    expect_word(heading);
    do {
      kinds->push_back(kind(parse, what));
    } while (!peek().text.empty());
    need_line("instructions and 'end'");
  }

  void interface() {
    list("inputs", &function_.inputs, &parse_element_type, "element");
    list("tables", &function_.tables, &parse_element_type, "element");
    list("arguments", &function_.arguments, &parse_value_type, "type");
  }

  // Parses instructions from the current line to the first line that is none.
  void block(Block* ids, std::size_t depth) {
    while (peek().text.starts_with('%')) {
      const Word target = word("a value");
      const auto id = static_cast<Id>(function_.instructions.size());
      if (target.text != fmt::format("%{}", id))
        fail(target.column, fmt::format("{} should be %{}; values are numbered in order", quoted(target.text), id));
      if (id == instructions_max) fail(1, fmt::format("there are more than {} instructions", instructions_max));
      expect_word("=");
      place_.push_back({line_, target.column});
      function_.instructions.emplace_back();
      instruction(id, depth);
      ids->push_back(id);
      end_of_line();
      need_line("'end' or '}'");
    }
  }

  void instruction(Id id, std::size_t depth) {
    Instruction one;
    one.op = kind(&parse_op, "operation");
    if (one.op == Op::loop) {
      one.type = DType::uint32;
      one.immediate = loop(depth);
    } else {
      one.type = kind(&parse_value_type, "type");
      if (one.op == Op::constant) {
        const Word text = word("a constant");
        const auto bits = parse_constant(one.type, text.text);
        if (!bits) fail(text.column, fmt::format("{} is not a valid {}", quoted(text.text), short_name(one.type)));
        one.immediate = *bits;
      }
      for (std::size_t i = 0; i < operand_count(one.op); ++i) one.operands[i] = value();
      if (one.op == Op::input || one.op == Op::argument || one.op == Op::gather || one.op == Op::result ||
          one.op == Op::carried)
        one.immediate = number("number");
    }
    function_.instructions[id] = one;
  }

  // Parses a loop from the trip count to the last next value.
  std::uint32_t loop(std::size_t depth) {
    if (depth == loop_depth_max) fail(peek().column, fmt::format("loops are nested deeper than {}", loop_depth_max));
    const auto number = static_cast<std::uint32_t>(function_.loops.size());
    function_.loops.emplace_back();
    Loop one;
    // Set before the body is parsed, which refers to its loop.
    function_.instructions.back() = {Op::loop, DType::uint32, {}, number};
    one.trip_count = value();
    while (peek().text != "{") one.initial.push_back(value());
    expect_word("{");
    end_of_line();
    need_line("'}'");
    block(&one.body, depth + 1);
    expect_word("}");
    while (!peek().text.empty()) one.next.push_back(value());
    function_.loops[number] = std::move(one);
    return number;
  }

  void outputs() {
    while (peek().text == "output") {
      expect_word("output");
      const DType element = kind(&parse_element_type, "element");
      function_.outputs.push_back({value(), element});
      end_of_line();
      need_line("'end'");
    }
    expect_word("end");
    end_of_line();
  }

  // Reports an error that verify finds at the line of the instruction.
  void check() const {
    try {
      verify(function_);
    } catch (const Error& error) {
      const std::string_view what = error.what();
      const std::string_view found = what.substr(std::min(what.find("] ") + 2, what.size()));
      constexpr std::string_view prefix = "instruction ";
      std::size_t line = line_;
      std::size_t column = 1;
      if (found.starts_with(prefix)) {
        const std::string_view digits = found.substr(prefix.size());
        const auto id = whole<std::uint32_t>(digits.substr(0, digits.find(' ')));
        if (id && *id < place_.size()) std::tie(line, column) = place_[*id];
      }
      throw Error(ErrorCode::invalid_input, "ir.from_text", fmt::format("line {}, column {}: {}", line, column, found));
    }
  }

  std::string_view rest_;
  std::string_view line_text_;
  std::size_t line_ = 0;
  std::size_t at_ = 0;
  Function function_;
  std::vector<std::pair<std::size_t, std::size_t>> place_;  // line and column of each instruction
};

}  // namespace

std::optional<std::uint32_t> parse_constant(DType type, std::string_view text) {
  if (type == DType::boolean) {
    if (text == "true") return 1;
    return text == "false" ? std::optional<std::uint32_t>(0) : std::nullopt;
  }
  if (text.starts_with("0x")) return text.size() == 10 ? whole<std::uint32_t>(text.substr(2), 16) : std::nullopt;
  if (type == DType::uint32) return whole<std::uint32_t>(text);
  if (type == DType::int32) {
    const auto value = whole<std::int32_t>(text);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }
  float real = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), real);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size() || std::isnan(real))
    return std::nullopt;
  return std::bit_cast<std::uint32_t>(real);
}

Function from_text(std::string_view text) { return Parser(text).run(); }

}  // namespace vectis::inline v0_1::ir
