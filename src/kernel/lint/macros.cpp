#include "kernel/lint/macros.hpp"

#include <algorithm>
#include <deque>
#include <ranges>

namespace vectis::inline v0_1::detail {

namespace {

constexpr std::size_t expanded_tokens_max = 100'000;
constexpr std::string_view blanks = " \t\r\n\v\f\\";

std::string_view trimmed(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

}  // namespace

Macros::Macros(const KernelSource& source) {
  for (const auto& [head, replacement] : source.defines) define(head, replacement);
}

// `head` is a name, or a name and its parameters: "TWICE(x)".
void Macros::define(std::string_view head, std::string_view replacement) {
  const std::vector<Token> tokens = tokenize(head);
  if (tokens.empty()) return;
  Macro macro;
  macro.has_parameters = tokens.size() > 1;
  for (const Token& token : std::span(tokens).subspan(1)) {
    if (token.kind == TokenKind::identifier) macro.parameters.push_back(token.text);
  }
  macro.replacement = tokenize(replacement);
  macros_[tokens.front().text] = std::move(macro);
}

void Macros::directive(std::string_view text) {
  const std::string_view line = trimmed(text.substr(1));
  for (const std::string_view word : {"define", "undef"}) {
    if (!line.starts_with(word)) continue;
    const std::string_view rest = trimmed(line.substr(word.size()));
    const std::size_t name_end = std::min(rest.find_first_of(" \t\r\n\v\f\\("), rest.size());
    if (word == "undef") {
      macros_.erase(rest.substr(0, name_end));
    } else {
      const bool has_parameters = rest.substr(name_end).starts_with("(");
      const std::size_t end = has_parameters ? std::min(rest.find(')'), rest.size() - 1) + 1 : name_end;
      define(rest.substr(0, end), rest.substr(end));
    }
  }
}

const Macros::Macro* Macros::macro_of(const Pending& name) const {
  if (name.token.kind != TokenKind::identifier) return nullptr;
  for (const Expanded* outer = name.within; outer != nullptr; outer = outer->outer) {
    if (outer->macro == name.token.text) return nullptr;
  }
  const auto found = macros_.find(name.token.text);
  return found == macros_.end() ? nullptr : &found->second;
}

bool Macros::take_arguments(std::vector<Pending>& stack, Arguments& arguments) {
  if (stack.empty() || !stack.back().token.is("(")) return false;
  arguments.assign(1, {});
  int depth = 0;
  for (std::size_t i = stack.size(); i-- > 0;) {
    const Token& token = stack[i].token;
    depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
    if (depth == 0) {
      stack.resize(i);
      return true;
    }
    if (depth == 1 && token.is(",")) {
      arguments.emplace_back();
    } else if (depth > 1 || !token.is("(")) {
      arguments.back().push_back(stack[i]);
    }
  }
  return false;
}

std::vector<Token> Macros::expand(std::span<const Token> tokens) {
  std::vector<Token> result;
  std::deque<Expanded> expanded;
  std::vector<Pending> stack;  // the next token is the last
  for (const Token& token : std::views::reverse(tokens)) stack.push_back({token, nullptr});
  std::size_t made = 0;
  while (!stack.empty()) {
    const Pending next = stack.back();
    stack.pop_back();
    if (next.token.kind == TokenKind::directive) {
      directive(next.token.text);
      continue;
    }
    const Macro* const macro = made < expanded_tokens_max ? macro_of(next) : nullptr;
    Arguments arguments;
    if (macro == nullptr || (macro->has_parameters && !take_arguments(stack, arguments))) {
      result.push_back(next.token);
      continue;
    }
    const Expanded* const within = &expanded.emplace_back(Expanded{next.token.text, next.within});
    for (Token token : std::views::reverse(macro->replacement)) {
      const auto parameter = std::ranges::find(macro->parameters, token.text);
      const auto place = static_cast<std::size_t>(parameter - macro->parameters.begin());
      token.line = next.token.line;
      token.column = next.token.column;
      if (place < std::min(macro->parameters.size(), arguments.size())) {
        stack.insert(stack.end(), arguments[place].rbegin(), arguments[place].rend());
        made += arguments[place].size();
      } else {
        stack.push_back({token, within});
        ++made;
      }
    }
  }
  return result;
}

}  // namespace vectis::inline v0_1::detail
