#include "nn/text/added_tokens.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "nn/text/unicode.hpp"

namespace vectis::inline v0_1::nn {

namespace {

struct TokenPosition {
  std::size_t begin;
  std::size_t end;
};

bool is_single_word(std::u32string_view text, const TokenPosition& at) noexcept {
  const bool continues_before = at.begin > 0 && is_word_character(text[at.begin - 1]);
  const bool continues_behind = at.end < text.size() && is_word_character(text[at.end]);
  return !continues_before && !continues_behind;
}

// Extends a position over the white space that the token takes, but not before `limit`.
TokenPosition with_spaces(std::u32string_view text, TokenPosition at, const AddedToken& token, std::size_t limit) {
  while (token.lstrip && at.begin > limit && is_white_space(text[at.begin - 1])) --at.begin;
  while (token.rstrip && at.end < text.size() && is_white_space(text[at.end])) ++at.end;
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens) {
  std::map<std::u32string, AddedToken, std::greater<>> by_content;
  for (const AddedToken& token : tokens) {
    if (!token.content.empty()) by_content.try_emplace(token.content, token);
  }
  for (auto& [content, token] : by_content) tokens_.push_back(std::move(token));
}

const AddedToken* AddedTokens::find_at(std::u32string_view text, std::size_t at) const noexcept {
  const std::u32string_view left = text.substr(at);
  const auto begins_later = [](const AddedToken& token, char32_t c) { return token.content.front() > c; };
  auto token = std::lower_bound(tokens_.begin(), tokens_.end(), left.front(), begins_later);
  for (; token != tokens_.end() && token->content.front() == left.front(); ++token) {
    if (left.starts_with(token->content)) return &*token;
  }
  return nullptr;
}

std::vector<TextPart> AddedTokens::split(std::u32string_view text) const {
  std::vector<TextPart> parts;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* const token = find_at(text, at);
    if (token == nullptr) {
      ++at;
      continue;
    }
    const TokenPosition found{at, at + token->content.size()};
    at = found.end;
    if (token->single_word && !is_single_word(text, found)) continue;
    const TokenPosition taken = with_spaces(text, found, *token, done);
    if (done < taken.begin) parts.push_back({.text = text.substr(done, taken.begin - done)});
    parts.push_back({.id = token->id});
    done = taken.end;
  }
  if (done < text.size()) parts.push_back({.text = text.substr(done)});
  return parts;
}

}  // namespace vectis::inline v0_1::nn
