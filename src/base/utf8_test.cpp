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

}  // namespace
}  // namespace vectis::inline v0_1::detail
