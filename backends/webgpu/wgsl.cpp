// A WGSL parser that reads no more than the interface of a module.
#include <algorithm>
#include <charconv>
#include <optional>

#include "shader_interface.hpp"

namespace vectis::webgpu {

namespace {

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80U;
}

// The tokens of a text: words and single characters, without blanks and comments.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  // The next token, a part of the text; empty at the end.
  std::string_view next() {
    skip();
    if (at_ >= text_.size()) return {};
    const std::size_t begin = at_++;
    if (is_word(text_[begin])) {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // Consumes the next token if it is `token`.
  bool take(std::string_view token) {
    const std::size_t before = at_;
    if (next() == token) return true;
    at_ = before;
    return false;
  }

  [[nodiscard]] std::size_t position() const noexcept { return at_; }

 private:
  [[nodiscard]] bool starts_with(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void skip() {
    while (at_ < text_.size()) {
      if (starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (starts_with("/*")) {
        skip_block();
      } else if (static_cast<unsigned char>(text_[at_]) <= ' ') {
        ++at_;
      } else {
        return;
      }
    }
  }

  // Comments nest.
  void skip_block() {
    std::size_t depth = 0;
    do {
      const bool opens = starts_with("/*");
      const bool closes = starts_with("*/");
      if (opens) ++depth;
      if (closes) --depth;
      at_ += opens || closes ? 2 : 1;
    } while (depth > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// A decimal literal with or without its suffix; empty for anything else.
std::optional<std::uint32_t> parse_integer(std::string_view token) {
  if (token.ends_with('u') || token.ends_with('i')) token.remove_suffix(1);
  std::uint32_t value = 0;
  const char* begin = token.data();  // NOLINT(bugprone-suspicious-stringview-data-usage): the size is in `end`
  const char* end = begin + token.size();
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// The bytes of a type made of scalars, vectors, atomics and arrays with literal counts; 0 for any other. Precondition:
// the nesting of the text is within its limit.
std::uint64_t type_bytes(Tokens& tokens) {
  const std::string_view name = tokens.next();
  if (name == "u32" || name == "i32" || name == "f32" || name == "bool") return 4;
  if (name == "f16") return 2;
  if (name.size() == 5 && name.starts_with("vec") && name[4] != '<') return name[3] == '2' ? 8 : 16;
  const bool vector = name == "vec2" || name == "vec3" || name == "vec4";
  if ((!vector && name != "atomic" && name != "array") || !tokens.take("<")) return 0;
  const std::uint64_t element = type_bytes(tokens);
  if (name != "array") {
    if (!tokens.take(">")) return 0;
    return vector ? element * (name == "vec2" ? 2 : 4) : element;
  }
  if (!tokens.take(",")) return 0;
  const std::uint64_t count = parse_integer(tokens.next()).value_or(0);
  tokens.take(",");
  return tokens.take(">") ? element * count : 0;  // otherwise the count is an expression: 65536 / 1024
}

// wgpu's compiler (naga) recurses without a limit into nested brackets and chains of operators, and overflows a stack
// of 8 MiB at some thousands. These limits are far above what programs written by hand or by our code generators have.
class NestingCheck {
 public:
  static constexpr std::size_t brackets_max = 256;
  static constexpr std::size_t chain_max = 2048;  // tokens between two separators
  static constexpr std::size_t elses_max = 256;   // of one `if`

  void add(std::string_view token) {
    ++chain_;
    if (token == "(" || token == "[" || token == "{") elses_.push_back(0);
    if ((token == ")" || token == "]" || token == "}") && elses_.size() > 1) elses_.pop_back();
    if (token == "else") ++elses_.back();
    if (token == ";" || (token == "if" && before_ != "else")) elses_.back() = 0;
    if (token == ";" || token == "," || token == "{" || token == "}") chain_ = 0;
    before_ = token;
    if (elses_.size() > brackets_max) excess_ = "more than 256 nested brackets";
    if (chain_ > chain_max) excess_ = "an expression of more than 2048 tokens";
    if (elses_.back() > elses_max) excess_ = "an if with more than 256 branches";
  }

  [[nodiscard]] const char* excess() const noexcept { return excess_; }

 private:
  std::vector<std::size_t> elses_{0};  // of the current statement, one entry for each open bracket
  std::size_t chain_ = 0;
  std::string_view before_;
  const char* excess_ = nullptr;
};

class InterfaceParser {
 public:
  explicit InterfaceParser(std::string_view text) : text_(text), tokens_(text) {}

  WgslModule run() {
    for (std::string_view token = tokens_.next(); !token.empty(); token = tokens_.next()) {
      if (token == "@") {
        read_attribute();
      } else if (token == "var") {
        read_variable();
      } else if (token == "fn") {
        read_function();
      } else if (token == ";" || token == "{" || token == "}") {
        pending_ = {};
      }
    }
    copy_up_to(text_.size());
    return std::move(module_);
  }

 private:
  // The attributes before a declaration.
  struct Attributes {
    std::optional<std::uint32_t> binding;
    std::optional<std::uint32_t> group;
    bool compute = false;
    std::array<std::uint32_t, 3> block{};
  };

  void read_attribute() {
    const std::string_view name = tokens_.next();
    if (name == "compute") pending_.compute = true;
    if (name == "workgroup_size") return read_size();
    if ((name != "binding" && name != "group") || !tokens_.take("(")) return;
    (name == "binding" ? pending_.binding : pending_.group) = parse_integer(tokens_.next());
  }

  // Extents left out are 1; one that is no literal makes the workgroup size unknown.
  void read_size() {
    if (!tokens_.take("(")) return;
    std::array<std::uint32_t, 3> size{1, 1, 1};
    for (std::uint32_t& extent : size) {
      const auto value = parse_integer(tokens_.next());
      if (!value) return;
      extent = *value;
      tokens_.take(",");
      if (tokens_.take(")")) {
        pending_.block = size;
        return;
      }
    }
  }

  void read_variable() {
    if (!tokens_.take("<")) return;
    const std::string_view space = tokens_.next();
    if (pending_.binding && pending_.group.value_or(0) == 0 && (space == "storage" || space == "uniform")) {
      module_.interface.bindings.push_back({*pending_.binding, space == "uniform"});
    }
    if (space == "workgroup") return read_shared();
    if (space != "storage") return;
    const std::size_t after = tokens_.position();
    if (tokens_.take(",")) {
      const std::string_view access = tokens_.next();
      if (access == "read") replace(tokens_.position() - access.size(), access.size(), "read_write");
    } else {
      replace(after, 0, ", read_write");
    }
  }

  // wgpu 29 does not check workgroup variables against its limit.
  void read_shared() {
    if (!tokens_.take(">")) return;
    tokens_.next();
    if (!tokens_.take(":")) return;
    if (const std::uint64_t bytes = type_bytes(tokens_); bytes > 0) module_.interface.shared.push_back(bytes);
  }

  void read_function() {
    const std::string_view name = tokens_.next();
    if (pending_.compute) module_.interface.entries.push_back({std::string(name), pending_.block});
  }

  void replace(std::size_t position, std::size_t length, std::string_view with) {
    copy_up_to(position);
    module_.text += with;
    copied_ = position + length;
  }
  void copy_up_to(std::size_t position) {
    module_.text += text_.substr(copied_, position - copied_);
    copied_ = position;
  }

  std::string_view text_;
  Tokens tokens_;
  Attributes pending_;
  WgslModule module_;
  std::size_t copied_ = 0;
};

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char lead = byte(at);
    const std::size_t length = lead < 0x80U   ? 1
                               : lead < 0xC2U ? 0
                               : lead < 0xE0U ? 2
                               : lead < 0xF0U ? 3
                               : lead < 0xF5U ? 4
                                              : 0;
    if (length == 0 || at + length > text.size()) return at;
    std::uint32_t code = length == 1 ? lead : lead & (0x7FU >> length);
    for (std::size_t next = 1; next < length; ++next) {
      if ((byte(at + next) & 0xC0U) != 0x80U) return at;
      code = code << 6U | (byte(at + next) & 0x3FU);
    }
    const bool overlong = (length == 3 && code < 0x800U) || (length == 4 && code < 0x10000U);
    if (overlong || code > 0x10FFFFU || (code >= 0xD800U && code <= 0xDFFFU)) return at;
    at += length;
  }
  return std::nullopt;
}

WgslModule read_wgsl(std::string_view text) {
  NestingCheck nesting;
  Tokens tokens(text);
  for (std::string_view token = tokens.next(); !token.empty() && nesting.excess() == nullptr; token = tokens.next()) {
    nesting.add(token);
  }
  if (nesting.excess() != nullptr) return {{}, {}, nesting.excess()};
  return InterfaceParser(text).run();
}

}  // namespace vectis::webgpu
