#include "kernel/ir/text.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "kernel/ir/random_program.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"

namespace vectis::ir {
namespace {

constexpr auto invalid = ErrorCode::invalid_input;

const std::string small =
    "vectis-ir 1\n"
    "function f\n"
    "inputs f32\n"
    "tables i8\n"
    "arguments u32\n"
    "%0 = input f32 0\n"
    "%1 = argument u32 0\n"
    "%2 = loop %1 %0 {\n"
    "  %3 = carried f32 %2 0\n"
    "  %4 = iteration u32 %2\n"
    "  %5 = add f32 %3 %0\n"
    "} %5\n"
    "%6 = result f32 %2 0\n"
    "%7 = gather i32 %1 0\n"
    "output f16 %6\n"
    "output i8 %7\n"
    "end\n";

std::string with(const std::string& old, const std::string& now) {
  std::string text = small;
  return text.replace(text.find(old), old.size(), now);
}

TEST(IrText, RoundTrips) {
  const Function f = from_text(small);
  EXPECT_EQ(to_text(f), small);
  EXPECT_EQ(f.loops.size(), 1U);
  EXPECT_EQ(f.loops[0].body, (Block{3, 4, 5}));
  EXPECT_EQ(f.outputs[1].element, DType::int8);
}

TEST(IrText, CommentsAndBlanksAreSkipped) {
  EXPECT_EQ(to_text(from_text("# a report\n\n" + with("%5 = add", "\t%5   =  add"))), small);
  EXPECT_EQ(to_text(from_text(with("function f\n", "function f # named\r\n"))), small);
}

TEST(IrText, RandomProgramsRoundTrip) {
  Random random(test::seed());
  for (int i = 0; i < 1000; ++i) {
    const std::string text = to_text(random_program(random, {.special = i % 2 == 0}));
    ASSERT_EQ(to_text(from_text(text)), text);
  }
}

TEST(IrText, ConstantsKeepEveryBit) {
  Random random(test::seed());
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    for (const DType type : {DType::float32, DType::int32, DType::uint32})
      ASSERT_EQ(parse_constant(type, constant_text(type, bits)), bits) << constant_text(type, bits);
  }
  for (const std::uint32_t bits :
       {0U, 1U, 0x80000000U, 0x7f800000U, 0xff800000U, 0x007fffffU, 0x00800000U, 0x7f7fffffU})
    EXPECT_EQ(parse_constant(DType::float32, constant_text(DType::float32, bits)), bits);
  EXPECT_EQ(parse_constant(DType::float32, "0x3f800000"), 0x3f800000U);
  EXPECT_EQ(parse_constant(DType::int32, "0xffffffff"), 0xffffffffU);
  for (const std::string_view text : {"", "0x", "0x1", "0x-1234567", "1e99", "nan", "1.5f", "1,5", "0x123456789"})
    EXPECT_EQ(parse_constant(DType::float32, text), std::nullopt) << text;
  EXPECT_EQ(parse_constant(DType::uint32, "-1"), std::nullopt);
  EXPECT_EQ(parse_constant(DType::uint32, "4294967296"), std::nullopt);
  EXPECT_EQ(parse_constant(DType::boolean, "1"), std::nullopt);
}

TEST(IrText, ErrorsNameLineAndColumn) {
  EXPECT_ERROR(from_text(""), invalid, "line 0, column 1: the text does not begin with 'vectis-ir 1'");
  EXPECT_ERROR(from_text("vectis-ir 2\n"), invalid, "line 1, column 1");
  EXPECT_ERROR(from_text("vectis-ir 1\n"), invalid,
               "line 2, column 1: unexpected end of the text; expected function NAME");
  EXPECT_ERROR(from_text(with("function f", "function F")), invalid, "line 2, column 10: 'F' is not a valid name");
  EXPECT_ERROR(from_text(with("inputs f32", "inputs f64")), invalid, "line 3, column 8: 'f64' is not a valid element");
  EXPECT_ERROR(from_text(with("inputs f32", "inputs")), invalid, "line 3, column 7: element is missing");
  EXPECT_ERROR(from_text(with("%5 = add", "%6 = add")), invalid, "line 11, column 3: '%6' should be %5");
  EXPECT_ERROR(from_text(with("%5 = add", "%5 = plus")), invalid, "line 11, column 8: 'plus' is not a valid operation");
  EXPECT_ERROR(from_text(with("add f32", "add f3")), invalid, "line 11, column 12: 'f3' is not a valid type");
  EXPECT_ERROR(from_text(with("%3 %0\n", "%3 %9\n")), invalid,
               "line 11, column 19: '%9' is used before it is computed");
  EXPECT_ERROR(from_text(with("%3 %0\n", "%3\n")), invalid, "line 11, column 18: a value is missing");
  EXPECT_ERROR(from_text(with("%3 %0\n", "%3 %0 %0\n")), invalid, "line 11, column 22: unexpected '%0'");
  EXPECT_ERROR(from_text(with("%3 %0\n", "%3 0\n")), invalid, "line 11, column 19: '0' is not a value");
  EXPECT_ERROR(from_text(with("} %5", "} %4")), invalid, "line 8, column 1: instruction 2 (loop)", "changes the type");
  EXPECT_ERROR(from_text(with("add f32 %3 %0", "exp f32 %4")), invalid, "line 11, column 3: instruction 5 (exp)");
  EXPECT_ERROR(from_text(with("output f16 %6", "output f16 %5")), invalid, "line 17, column 1: output 0");
  EXPECT_ERROR(from_text(small + "end\n"), invalid, "line 18, column 1: unexpected text after");
}

// A text that parses is written back identically; any other text is rejected with line and column.
void read_hostile(const std::string& text) {
  try {
    const std::string again = to_text(from_text(text));
    EXPECT_EQ(to_text(from_text(again)), again);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), invalid);
    EXPECT_THAT(error.what(), testing::MatchesRegex("\\[ir.from_text\\] line [0-9]+, column [0-9]+: .*"));
  }
}

TEST(IrText, RejectsHostileTextWithoutCrashing) {
  Random random(test::seed());
  const std::string words[] = {"%0", "%4294967295", "%99999999999", "}", "{", "end", "loop",
                               "\n", " ",           "\x01\xff",     "-", "0x"};
  for (int i = 0; i < 300; ++i) {
    const std::string text = to_text(random_program(random, {.steps = 8}));
    read_hostile(text.substr(0, random.below(text.size())));
    for (int k = 0; k < 10; ++k) {
      std::string mutated = text;
      for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
        const std::size_t at = random.below(mutated.size());
        switch (random.below(4)) {
          case 0:
            mutated[at] = static_cast<char>(random.below(256));
            break;
          case 1:
            mutated.erase(at, 1 + random.below(20));
            break;
          case 2:
            mutated.insert(at, words[random.below(std::size(words))]);
            break;
          default:
            mutated.insert(at, mutated.substr(random.below(mutated.size()), random.below(40)));
        }
        if (mutated.empty()) mutated = "v";
      }
      read_hostile(mutated);
    }
  }
}

TEST(IrText, RejectsDeepNesting) {
  std::string text = "vectis-ir 1\nfunction f\n%0 = constant u32 1\n";
  for (int i = 1; i < 100000; ++i) text += "%" + std::to_string(i) + " = loop %0 {\n";
  EXPECT_ERROR(from_text(text), invalid, "line 20, column 12: loops are nested deeper than 16");
}

}  // namespace
}  // namespace vectis::ir
