#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace vectis::inline v0_1::detail {
namespace {

TEST(CutUtf8, EndsBeforeACharacterThatDoesNotFit) {
  EXPECT_EQ(cut_utf8("", 0), "");
  EXPECT_EQ(cut_utf8("abc", 3), "abc");
  EXPECT_EQ(cut_utf8("abc", 2), "ab");
  EXPECT_EQ(cut_utf8("abc", 0), "");
  const std::string text = "a\u00e4\u20ac\U0001F600z";  // characters of 1, 2, 3, 4 and 1 bytes
  const std::size_t ends[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    EXPECT_EQ(cut_utf8(text, bytes).size(), ends[bytes]) << bytes;
  }
}

TEST(CutUtf8, OtherBytesAreCutNearTheLimit) {
  const std::string bytes(100, '\x80');
  EXPECT_EQ(cut_utf8(bytes, 40).size(), 40U);
  EXPECT_EQ(cut_utf8(bytes, 1).size(), 1U);
}

TEST(IsUtf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
  EXPECT_TRUE(is_utf8("\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"));
}

TEST(IsUtf8, RejectsOtherBytes) {
  for (const char* const text :
       {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xc3(", "\xe2\x82", "\xe2(\x82", "\xe2\x82(",
        "\xf0\x9f\x98", "\xf0\x9f\x98(", "a\u00e4\xe4"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
    EXPECT_FALSE(is_utf8(std::string("before ") + text));
  }
}

}  // namespace
}  // namespace vectis::inline v0_1::detail
