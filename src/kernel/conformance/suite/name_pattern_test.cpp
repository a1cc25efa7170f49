#include "kernel/conformance/suite/name_pattern.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/base/error.hpp"
#include "vectis/base/random.hpp"

namespace vectis::conformance {
namespace {

TEST(NamePattern, MatchesWholeNames) {
  EXPECT_TRUE(NamePattern("sum").matches("sum"));
  EXPECT_FALSE(NamePattern("sum").matches("sum_rows"));
  EXPECT_FALSE(NamePattern("sum").matches("a_sum"));
  EXPECT_TRUE(NamePattern("sum.*").matches("sum_rows"));
  EXPECT_TRUE(NamePattern("fill|transpose").matches("transpose"));
  EXPECT_TRUE(NamePattern("(arg)?(min|max)_[a-z]+").matches("argmax_rows"));
  EXPECT_FALSE(NamePattern("[^a-m]+").matches("norm"));
  EXPECT_TRUE(NamePattern(R"(a\.b)").matches("a.b"));
  EXPECT_FALSE(NamePattern(R"(a\.b)").matches("a_b"));
  EXPECT_TRUE(NamePattern("").matches(""));
  EXPECT_FALSE(NamePattern("").matches("sum"));
}

TEST(NamePattern, NeedsNoMoreTimeForNestedQuantifiers) {
  std::string nested;
  for (int i = 0; i < 39; ++i) nested += "(.*)*";
  EXPECT_FALSE(NamePattern(nested + "x").matches(std::string(64, 'a')));
  const std::string deep = std::string(99, '(') + "a" + std::string(99, ')') + "*";
  EXPECT_TRUE(NamePattern(deep).matches("aaa"));
  EXPECT_FALSE(NamePattern("((((((a*)*)*)*)*)*)*").matches(std::string(64, 'a') + "b"));
}

TEST(NamePattern, RejectsOtherTexts) {
  const auto reject = [](const std::string& text, const char* expected) {
    EXPECT_ERROR(NamePattern{text}, ErrorCode::invalid_input, "not a regular expression", expected);
  };
  reject("su(", "without a )");
  reject("su)", "without a (");
  reject("*", "nothing stands before *");
  reject("a**", "nothing stands before *");
  reject("a|+", "nothing stands before +");
  reject("[a", "ends too early");
  reject("[]", "an empty [ ]");
  reject("[b-a]", "from high to low");
  reject("\\", "ends too early");
  reject("(a)\\1", "\\1 is not supported");
  reject("a{3}", "{ is not supported");
  reject(std::string(2001, 'a'), "2001 characters, the limit is 2000");
  reject(std::string(20000, '('), "20000 characters");
}

TEST(NamePattern, MatchesAsTheStandardLibraryDoes) {
  Random random(test::seed());
  std::size_t valid = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    std::string name;
    for (std::uint64_t left = random.below(8); left != 0; --left) text += "ab.*+?|()[]^-"[random.below(13)];
    for (std::uint64_t left = random.below(6); left != 0; --left) name += "abc"[random.below(3)];
    bool matched = false;
    try {
      matched = NamePattern(text).matches(name);
    } catch (const Error&) {
      continue;
    }
    ++valid;
    try {
      EXPECT_EQ(matched, std::regex_match(name, std::regex(text))) << text << ' ' << name;
    } catch (const std::regex_error&) {
      continue;  // some uses of brackets
    }
  }
  EXPECT_GT(valid, 500U);
}

}  // namespace
}  // namespace vectis::conformance
