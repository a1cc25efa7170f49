#include "nn/text/unicode.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "nn/check.hpp"

namespace vectis::inline v0_1::nn {

namespace {

struct CharacterRange {
  char32_t first;
  char32_t last;
};

// Ranges in which all controls, punctuation and nonspacing marks were assigned after Unicode 8. Their other characters
// are of other categories, such as letters, and have no decomposition in Unicode 8.
constexpr std::array<CharacterRange, 41> newer_characters = {{
    {0x61D, 0x61D},     {0x7FD, 0x7FD},     {0x890, 0x8E2},     {0x9FD, 0x9FE},     {0xA76, 0xA76},
    {0xAFA, 0xAFF},     {0xB55, 0xB55},     {0xC04, 0xC3C},     {0xC77, 0xC77},     {0xC84, 0xC84},
    {0xD00, 0xD00},     {0xD3B, 0xD3C},     {0xD81, 0xD81},     {0xEBA, 0xEBA},     {0xECE, 0xECE},
    {0x180F, 0x1886},   {0x1ABF, 0x1ACE},   {0x1B7D, 0x1B7E},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E5D},
    {0xA82C, 0xA82C},   {0xA8C5, 0xA8C5},   {0xA8FF, 0xA8FF},   {0xA9BD, 0xA9BD},   {0x10D24, 0x10F89},
    {0x11070, 0x11074}, {0x110C2, 0x110CD}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x11241},
    {0x1133B, 0x1133B}, {0x11438, 0x1145E}, {0x11660, 0x1166C}, {0x116B9, 0x116B9}, {0x1182F, 0x11FFF},
    {0x12FF1, 0x13455}, {0x16E97, 0x16F4F}, {0x16FE2, 0x16FE4}, {0x1CF00, 0x1CF46}, {0x1E000, 0x1E4EF},
    {0x1E944, 0x1E95F},
}};

constexpr std::array<CharacterRange, 8> chinese_blocks = {{
    {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},
    {0xF900, 0xFAFF},
    {0x20000, 0x2A6DF},
    {0x2A700, 0x2B73F},
    {0x2B740, 0x2B81F},
    {0x2B920, 0x2CEAF},
    {0x2F800, 0x2FA1F},
}};

// Symbols with the property Alphabetic: letters in circles and squares.
constexpr std::array<CharacterRange, 4> alphabetic_symbols = {{
    {0x24B6, 0x24E9},
    {0x1F130, 0x1F149},
    {0x1F150, 0x1F169},
    {0x1F170, 0x1F189},
}};

constexpr char32_t capital_i_with_dot = 0x130;
constexpr char32_t combining_dot_above = 0x307;
constexpr std::size_t decomposition_max = 4;  // characters of a canonical decomposition (Unicode TR15)

template <std::size_t N>
bool is_in(const std::array<CharacterRange, N>& sorted, char32_t c) noexcept {
  const auto* const range = std::ranges::lower_bound(sorted, c, {}, &CharacterRange::last);
  return range != sorted.end() && range->first <= c;
}

utf8proc_category_t category_today(char32_t c) noexcept { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// The category in Unicode 8, as far as it is control, punctuation or nonspacing mark; another one otherwise.
utf8proc_category_t category_of(char32_t c) noexcept {
  constexpr char32_t canadian_chi_sign = 0x166D;
  constexpr char32_t sharada_sandhi_mark = 0x111C9;
  constexpr char32_t hanunoo_pamudpod = 0x1734;
  if (c == canadian_chi_sign || c == sharada_sandhi_mark) return UTF8PROC_CATEGORY_PO;
  if (c == hanunoo_pamudpod) return UTF8PROC_CATEGORY_MN;
  return is_in(newer_characters, c) ? UTF8PROC_CATEGORY_CN : category_today(c);
}

std::uint16_t combining_class(char32_t c) noexcept {
  return static_cast<std::uint16_t>(utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

// Appends the canonical decomposition of one character.
void append_decomposition(std::u32string& text, char32_t c) {
  if (is_in(newer_characters, c)) {
    text += c;
    return;
  }
  std::array<utf8proc_int32_t, decomposition_max> parts{};
  const utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), UTF8PROC_DECOMPOSE, nullptr);
  for (std::size_t i = 0; std::cmp_less(i, count); ++i) text += static_cast<char32_t>(parts.at(i));
}

// Sorts combining marks by their classes; those of one class stay in their order.
void sort_marks(std::span<char32_t> marks) {
  struct Mark {
    std::uint16_t order;  // its combining class
    std::size_t position;
    char32_t character;
  };
  std::vector<Mark> sorted;
  for (const char32_t c : marks) sorted.push_back({combining_class(c), sorted.size(), c});
  std::ranges::sort(sorted, {}, [](const Mark& mark) { return std::pair(mark.order, mark.position); });
  std::ranges::transform(sorted, marks.begin(), &Mark::character);
}

// Sorts each run of combining marks (Unicode 3.11, D109). utf8proc's own sort is quadratic.
void order_marks(std::u32string& text) {
  const auto is_mark = [](char32_t c) { return combining_class(c) != 0; };
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), is_mark);
    const auto end = std::find_if_not(begin, text.end(), is_mark);
    if (end - begin > 1) sort_marks({begin, end});
    begin = end;
  }
}

}  // namespace

std::u32string decode_utf8(std::string_view op, std::string_view text) {
  std::u32string characters;
  characters.reserve(text.size());
  const auto* const bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes + at, static_cast<utf8proc_ssize_t>(text.size() - at), &c);
    if (length < 1) {
      throw_invalid(op, fmt::format("byte {} of {} of the text is not UTF-8; convert the text", at, text.size()));
    }
    characters += static_cast<char32_t>(c);
    at += static_cast<std::size_t>(length);
  }
  return characters;
}

void append_utf8(std::string& text, char32_t c) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text) append_utf8(bytes, c);
  return bytes;
}

bool is_white_space(char32_t c) noexcept {
  if (c <= 0x20) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_control(char32_t c) noexcept {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t category = category_of(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

bool is_punctuation(char32_t c) noexcept {
  if (c < 0x80)
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  const utf8proc_category_t category = category_of(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_nonspacing_mark(char32_t c) noexcept { return category_of(c) == UTF8PROC_CATEGORY_MN; }

bool is_chinese(char32_t c) noexcept { return is_in(chinese_blocks, c); }

bool is_word_character(char32_t c) noexcept {
  constexpr char32_t zero_width_non_joiner = 0x200C;
  constexpr char32_t zero_width_joiner = 0x200D;
  const utf8proc_category_t category = category_today(c);
  const bool is_letter_or_mark = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
  return is_letter_or_mark || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC || c == zero_width_non_joiner || c == zero_width_joiner ||
         is_in(alphabetic_symbols, c);
}

std::u32string to_lowercase(std::u32string_view text) {
  std::u32string lowercase;
  lowercase.reserve(text.size());
  for (const char32_t c : text) {
    if (c == capital_i_with_dot) {  // the only character whose lowercase is two
      lowercase += U'i';
      lowercase += combining_dot_above;
    } else {
      lowercase += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
    }
  }
  return lowercase;
}

std::u32string decompose(std::u32string_view text) {
  std::u32string parts;
  parts.reserve(text.size());
  for (const char32_t c : text) append_decomposition(parts, c);
  order_marks(parts);
  return parts;
}

}  // namespace vectis::inline v0_1::nn
