#include "nn/text/unicode.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "nn/text/bert_words.hpp"
#include "tests/support/expect_error.hpp"

namespace vectis::nn {
namespace {

constexpr std::string_view unicode_test_op = "test";

TEST(UnicodeTest, DecodesWhatItEncodes) {
  const std::u32string text = {U'a', 0xE9, 0x20AC, 0x1F600, 0x10FFFF, 0, 0xFFFD};
  EXPECT_EQ(decode_utf8(unicode_test_op, encode_utf8(text)), text);
  EXPECT_EQ(encode_utf8(U"\u00E9"), "\303\251");
}

TEST(UnicodeTest, RejectsWhatIsNotUtf8) {
  EXPECT_ERROR(static_cast<void>(decode_utf8(unicode_test_op, "ab\xff")), ErrorCode::invalid_input, "byte 2 of 3");
  for (const char* const bytes : {"\xc0\x80", "\xed\xa0\x80", "\xe2\x82", "\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_ERROR(static_cast<void>(decode_utf8(unicode_test_op, bytes)), ErrorCode::invalid_input, "byte 0");
  }
}

TEST(UnicodeTest, ClassifiesByUnicode8) {
  EXPECT_TRUE(is_control(0x200D) && is_control(0xE000) && is_control(0x85) && is_control(1));
  EXPECT_FALSE(is_control('\t') || is_control('\n') || is_control('\r') || is_control(' '));
  EXPECT_FALSE(is_control(0x378)) << "no character has this number";
  EXPECT_FALSE(is_control(0x8E2)) << "of Unicode 9";
  EXPECT_TRUE(is_punctuation('$') && is_punctuation(0x3001) && is_punctuation(0x166D) && is_punctuation(0x111C9));
  EXPECT_FALSE(is_punctuation(0x20AC)) << "the euro sign is a symbol";
  EXPECT_FALSE(is_punctuation(0x2E43)) << "of Unicode 9";
  EXPECT_TRUE(is_nonspacing_mark(0x301) && is_nonspacing_mark(0x1734));
  EXPECT_FALSE(is_nonspacing_mark(0x903) || is_nonspacing_mark(0x111C9) || is_nonspacing_mark(0x1E000));
  EXPECT_TRUE(is_chinese(0x4E00) && is_chinese(0x2CEAF) && is_chinese(0xF900));
  EXPECT_FALSE(is_chinese(0x3042) || is_chinese(0xAC00) || is_chinese(0x2B820));
  EXPECT_TRUE(is_word_character('_') && is_word_character(0xE9) && is_word_character(0x24B6));
  EXPECT_FALSE(is_word_character('-') || is_word_character(' '));
}

TEST(UnicodeTest, WhiteSpaceIsThatOfUnicode) {
  std::size_t count = 0;
  for (char32_t c = 0; c < 0x110000; ++c) count += is_white_space(c) ? 1U : 0U;
  EXPECT_EQ(count, 25U);
  EXPECT_TRUE(is_white_space(0x85) && is_white_space(0x3000) && is_white_space(0x0B));
  EXPECT_FALSE(is_white_space(0x200B) || is_white_space(0x1C));
}

TEST(UnicodeTest, LowercaseOfEachCharacterByItself) {
  EXPECT_EQ(to_lowercase(U"ÀBÇ"), U"àbç");
  EXPECT_EQ(to_lowercase(U"\u039F\u03A3"), U"\u03BF\u03C3") << "no final sigma";
  EXPECT_EQ(to_lowercase(U"\u0130"), U"i\u0307");
}

TEST(UnicodeTest, DecomposesAndOrdersMarks) {
  EXPECT_EQ(decompose(U"\u1EC7"), U"e\u0323\u0302");
  EXPECT_EQ(decompose(U"e\u0301\u0323\u0300"), U"e\u0323\u0301\u0300");
  EXPECT_EQ(decompose(U"\uAC01"), U"\u1100\u1161\u11A8");
  EXPECT_EQ(decompose(U"\uFB01"), U"\uFB01") << "a ligature is no canonical composition";
}

TEST(UnicodeTest, OrdersMarksWithoutEndInTime) {
  std::u32string marks = U"e";
  for (int i = 0; i < 200'000; ++i) marks += i % 2 == 0 ? char32_t{0x301} : char32_t{0x323};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(decompose(marks).size(), marks.size());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(BertWordsTest, NormalizesByItsOptions) {
  const std::u32string text = {U'É', 0, U'\t', 0x4E00, 0x200B, U'a'};
  EXPECT_EQ(normalize(text, {}), U"e  一 a");
  EXPECT_EQ(normalize(text, {.strip_accents = false}), U"é  一 a");
  EXPECT_EQ(normalize(text, {.lowercase = false}), U"É  一 a");
  EXPECT_EQ(normalize(text, {.strip_accents = true, .lowercase = false}), U"E  一 a");
  EXPECT_EQ(normalize(text, {.handle_chinese_chars = false}), U"e 一a");
  EXPECT_EQ(normalize(text, {false, false, false, false}), text);
}

TEST(BertWordsTest, SplitsAtWhiteSpaceAndPunctuation) {
  const std::vector<std::u32string_view> words = split_words(U" don't  stop...");
  EXPECT_EQ(words, (std::vector<std::u32string_view>{U"don", U"'", U"t", U"stop", U".", U".", U"."}));
  EXPECT_TRUE(split_words(U"").empty());
  EXPECT_TRUE(split_words(U" \t\n").empty());
}

}  // namespace
}  // namespace vectis::nn
