#include "nn/text/json_value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/expect_error.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;

JsonValue parse_json(std::string_view text, const JsonLimits& limits = {}) {
  return JsonValue::parse("test", text, limits);
}

TEST(JsonValueTest, ReadsEveryKind) {
  EXPECT_TRUE(parse_json(" null ").is_null());
  EXPECT_EQ(parse_json("true").boolean(), true);
  EXPECT_EQ(parse_json("false").boolean(), false);
  EXPECT_EQ(parse_json("-7").integer(), -7);
  EXPECT_EQ(parse_json("1.5e1").number(), 15.0);
  EXPECT_EQ(*parse_json(R"("text")").string(), "text");
  EXPECT_EQ(parse_json("[]").array()->size(), 0U);
  EXPECT_EQ(parse_json("{}").object()->size(), 0U);
}

TEST(JsonValueTest, NamesKindsAndHidesValuesOfOthers) {
  const JsonValue list = parse_json(R"([null, true, 1, 1.0, "1", [1], {"1": 1}])");
  std::vector<std::string_view> names;
  for (const JsonValue& value : *list.array()) {
    names.push_back(value.kind_name());
    EXPECT_EQ(value.boolean().has_value(), value.kind() == JsonKind::boolean);
    EXPECT_EQ(value.integer().has_value(), value.kind() == JsonKind::integer);
    EXPECT_EQ(value.number().has_value(), value.kind() == JsonKind::integer || value.kind() == JsonKind::real);
    EXPECT_EQ(value.string() != nullptr, value.kind() == JsonKind::string);
    EXPECT_EQ(value.array() != nullptr, value.kind() == JsonKind::array);
    EXPECT_EQ(value.object() != nullptr, value.kind() == JsonKind::object);
    EXPECT_EQ(value.find("1") != nullptr, value.kind() == JsonKind::object);
  }
  EXPECT_THAT(names, ElementsAre("null", "a boolean", "an integer", "a number", "a string", "an array", "an object"));
}

TEST(JsonValueTest, KeepsIntegersExact) {
  EXPECT_EQ(parse_json("9223372036854775807").integer(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_json("-9223372036854775808").integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_json("9007199254740993").integer(), 9007199254740993);
}

TEST(JsonValueTest, TakesOtherNumbersForReal) {
  for (const std::string_view text : {"1.0", "1e0", "-0", "9223372036854775808", "18446744073709551616"}) {
    EXPECT_EQ(parse_json(text).kind(), JsonKind::real) << text;
  }
  EXPECT_EQ(parse_json("9223372036854775808").number(), 9223372036854775808.0);
  EXPECT_TRUE(std::signbit(*parse_json("-0").number()));
}

TEST(JsonValueTest, KeepsTheOrderOfMembersAndFindsThem) {
  const JsonValue value = parse_json(R"({"b": 1, "a": 2, "": 3, "ä": 4})");
  std::vector<std::string> names;
  for (const auto& [name, member] : *value.object()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("b", "a", "", "ä"));
  EXPECT_EQ(value.find("b")->integer(), 1);
  EXPECT_EQ(value.find("a")->integer(), 2);
  EXPECT_EQ(value.find("")->integer(), 3);
  EXPECT_EQ(value.find("ä")->integer(), 4);
  EXPECT_EQ(value.find("c"), nullptr);
}

TEST(JsonValueTest, ACopyHasItsOwnMembers) {
  JsonValue copy;
  {
    const JsonValue value = parse_json(R"({"a name that is longer than what a string holds in itself": [1, "x"]})");
    copy = value;
  }
  const JsonValue* const member = copy.find("a name that is longer than what a string holds in itself");
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(*member->array()->at(1).string(), "x");
}

TEST(JsonValueTest, DecodesEscapes) {
  EXPECT_EQ(*parse_json(R"("\"\\\/\b\f\n\r\t\u00e4\u20AC\ud83d\ude00")").string(), "\"\\/\b\f\n\r\tä€😀");
  EXPECT_EQ(*parse_json(R"("a\u0000b")").string(), std::string("a\0b", 3));
}

TEST(JsonValueTest, RejectsWhatIsNotJson) {
  for (const std::string_view text :
       {"",        " ",        "{",          "}",       "[",         "[1",          "[1,",      "[1,]",    "[,1]",
        "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",   "{'a':1}",   "{\"a\" 1}",   "[1 2]",    "[1}",     "1 2",
        "{} {}",   "nul",      "nullx",      "True",    "NaN",       "Infinity",    "-",        "+1",      "01",
        "-01",     "1.",       ".5",         "1e",      "1e+",       "0x1",         "1e999",    "-1e999",  "//",
        "/**/1",   "[1]//",    "\"a",        "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "\"a\tb\""}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(parse_json(text), ErrorCode::corrupt_data, "JSON in UTF-8");
  }
}

TEST(JsonValueTest, RejectsWhatIsNotUtf8) {
  for (const std::string_view text :
       {"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83dx\"", "\"\\ud83d\\u0041\"", "\"\\ude00\\ud83d\"", "\"\xff\"",
        "\"\xc3\"", "\"\xc3(\"", "\"\x80\"", "\"\xc0\xaf\"", "\"\xe0\x80\xaf\"", "\"\xed\xa0\x80\"",
        "\"\xf0\x80\x80\xaf\"", "\"\xf4\x90\x80\x80\"", "\"\xf8\x88\x80\x80\x80\"", "\xff{}"}) {
    EXPECT_ERROR(parse_json(text), ErrorCode::corrupt_data, "JSON in UTF-8");
  }
}

TEST(JsonValueTest, NamesTheFirstByteThatIsNotJson) {
  EXPECT_ERROR(parse_json("[1, 2, x]"), ErrorCode::corrupt_data,
               "[test] the text stops being JSON in UTF-8 at byte 8;");
}

TEST(JsonValueTest, RejectsNulBytes) {
  for (const std::string_view text : {std::string_view("{}\0", 3), std::string_view("{}\0garbage", 10),
                                      std::string_view("[\0]", 3), std::string_view("\"\0\"", 3)}) {
    EXPECT_ERROR(parse_json(text), ErrorCode::corrupt_data, "is NUL");
  }
}

TEST(JsonValueTest, RejectsMembersOfOneName) {
  EXPECT_ERROR(parse_json(R"([{"b": 1, "a": 1, "b": 2}])"), ErrorCode::corrupt_data, "two members 'b'");
  EXPECT_ERROR(parse_json(R"({"a": 1, "\u0061": 2})"), ErrorCode::corrupt_data, "two members 'a'");
  EXPECT_EQ(parse_json(R"({"a": {"a": 1}})").object()->size(), 1U);
}

TEST(JsonValueTest, LimitsTheDepth) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_NO_THROW(parse_json(nested(128)));
  EXPECT_ERROR(parse_json(nested(129)), ErrorCode::corrupt_data, "more than 128 objects and arrays");
  EXPECT_ERROR(parse_json(std::string(10'000'000, '[')), ErrorCode::corrupt_data, "more than 128");
  EXPECT_NO_THROW(parse_json(R"({"a": [1], "b": [1]})", {.depth = 2}));
  EXPECT_ERROR(parse_json(R"({"a": [{}]})", {.depth = 2}), ErrorCode::corrupt_data, "more than 2");
}

TEST(JsonValueTest, LimitsTheElementsOfAnArray) {
  EXPECT_NO_THROW(parse_json(R"([1, [2, 3], {"a": 1, "b": 2, "c": 3, "d": 4}])", {.elements = 3}));
  EXPECT_ERROR(parse_json("[1, [2, 3, 4, 5]]", {.elements = 3}), ErrorCode::corrupt_data, "more than 3 elements");
}

TEST(JsonValueTest, QuotesStrings) {
  EXPECT_EQ(json_string("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json_string(std::string_view("\0\b\f\n\r\t\x1f\x7f", 8)), "\"\\u0000\\b\\f\\n\\r\\t\\u001f\x7f\"");
  EXPECT_EQ(json_string("ä€😀"), "\"ä€😀\"");
  EXPECT_EQ(json_string("a\xff"), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(*parse_json(json_string("ä\n\x01\"")).string(), "ä\n\x01\"");
}

}  // namespace
}  // namespace vectis::nn
