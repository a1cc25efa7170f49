#include "vectis/base/dtype.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "vectis/base/random.hpp"
#include "vectis/base/rounding.hpp"

namespace vectis {
namespace {

__extension__ typedef _Float16 CompilerHalf;  // the oracle

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Compilers differ in whether a conversion quiets a signalling NaN; ours always does.
constexpr std::uint32_t quiet32 = 0x400000;
constexpr std::uint16_t quiet16 = 0x200;

void expect_half(float value) {
  const auto oracle = std::bit_cast<std::uint16_t>(static_cast<CompilerHalf>(value));
  const unsigned expected = std::isnan(value) ? oracle | quiet16 : oracle;
  ASSERT_EQ(to_half(value).bits, expected) << "of " << value << " with bits " << std::hex << bits_of(value);
}

// bfloat16 by arithmetic on exact values instead of bits: the nearer of the two neighbors; for a tie, the even one.
void expect_bfloat16(float value) {
  const std::uint16_t got = to_bfloat16(value).bits;
  if (std::isnan(value)) {
    ASSERT_TRUE(std::isnan(to_float(Bfloat16{got})));
    ASSERT_EQ(std::signbit(to_float(Bfloat16{got})), std::signbit(value));
    return;
  }
  const auto low = static_cast<std::uint16_t>(bits_of(value) >> 16);
  const auto high = static_cast<std::uint16_t>(low + 1);
  if (std::isinf(value)) {
    ASSERT_EQ(got, low);
    return;
  }
  // Above the largest finite value, infinity counts as the next power of two.
  const double above = (high & 0x7fffU) == 0x7f80U ? std::copysign(0x1.0p128, value) : double{to_float(Bfloat16{high})};
  const double down = std::abs(double{value} - double{to_float(Bfloat16{low})});
  const double up = std::abs(above - double{value});
  const std::uint16_t expected = down < up || (down == up && low % 2 == 0) ? low : high;
  ASSERT_EQ(got, expected) << "of " << value << " with bits " << std::hex << bits_of(value);
}

std::vector<float> edge_floats() {
  std::vector<float> values;
  // Around every half, every midpoint of two halves, and every bfloat16 midpoint of a few exponents.
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const std::uint32_t exact =
        bits_of(static_cast<float>(std::bit_cast<CompilerHalf>(static_cast<std::uint16_t>(pattern))));
    for (const std::uint32_t nearby : {exact - 1, exact, exact + 1, exact + 0xfff, exact + 0x1000, exact + 0x1001}) {
      values.push_back(from_bits(nearby));
    }
    for (const std::uint32_t low : {0x0U, 0x1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      values.push_back(from_bits((pattern << 16) | low));
    }
  }
  return values;
}

TEST(Half, ToFloatIsExactForAllPatterns) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const auto oracle = static_cast<float>(std::bit_cast<CompilerHalf>(bits));
    const std::uint32_t expected = std::isnan(oracle) ? bits_of(oracle) | quiet32 : bits_of(oracle);
    ASSERT_EQ(bits_of(to_float(Half{bits})), expected) << std::hex << pattern;
  }
}

TEST(Half, AllPatternsRoundTripThroughFloat) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const Half half{static_cast<std::uint16_t>(pattern)};
    const unsigned expected = std::isnan(to_float(half)) ? pattern | quiet16 : pattern;
    ASSERT_EQ(to_half(to_float(half)).bits, expected);
  }
}

TEST(Half, FromFloatMatchesTheCompilerAroundEveryHalfAndMidpoint) {
  for (const float value : edge_floats()) ASSERT_NO_FATAL_FAILURE(expect_half(value));
}

TEST(Half, FromFloatMatchesTheCompilerForRandomFloats) {
  constexpr std::uint64_t seed = 20;
  Random random(seed);
  for (int i = 0; i < 2000000; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_half(from_bits(static_cast<std::uint32_t>(random.next())))) << "seed " << seed;
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(to_half(0.0F).bits, 0x0000);
  EXPECT_EQ(to_half(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_half(1.0F).bits, 0x3c00);
  EXPECT_EQ(to_half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(to_half(65519.996F).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_half(0x1.0p-24F).bits, 0x0001);
  EXPECT_EQ(to_half(0x1.0p-25F).bits, 0x0000);
  EXPECT_EQ(to_half(std::numeric_limits<float>::denorm_min()).bits, 0x0000);
  EXPECT_EQ(to_half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
}

TEST(Bfloat16, AllPatternsRoundTripThroughFloat) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const Bfloat16 value{static_cast<std::uint16_t>(pattern)};
    ASSERT_EQ(bits_of(to_float(value)), pattern << 16);
    const unsigned expected = std::isnan(to_float(value)) ? pattern | 0x40U : pattern;
    ASSERT_EQ(to_bfloat16(to_float(value)).bits, expected);
  }
}

TEST(Bfloat16, FromFloatRoundsToNearestEven) {
  for (const float value : edge_floats()) ASSERT_NO_FATAL_FAILURE(expect_bfloat16(value));
  constexpr std::uint64_t seed = 21;
  Random random(seed);
  for (int i = 0; i < 1000000; ++i) {
    ASSERT_NO_FATAL_FAILURE(expect_bfloat16(from_bits(static_cast<std::uint32_t>(random.next())))) << "seed " << seed;
  }
}

TEST(Bfloat16, NanNeverBecomesInfinity) {
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(from_bits(0x7f800001)))));
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(from_bits(0xffffffff)))));
}

// Doubles around every midpoint of two halves and of two bfloat16, which a rounding to float would make ties.
std::vector<double> edge_doubles() {
  std::vector<double> values{0.0, -0.0, 1e300, -1e300, 1e-300, -1e-300, 0x1.fffffffp127, INFINITY, -INFINITY};
  const auto add_around = [&](double below, double above) {
    const double middle = below / 2 + above / 2;  // exact: both have few bits
    for (const double value : {middle, std::nextafter(middle, above), std::nextafter(middle, below)}) {
      values.insert(values.end(), {value, -value});
    }
  };
  for (std::uint32_t pattern = 0; pattern < 0x7bff; ++pattern) {
    const auto half = [](std::uint32_t bits) { return double{to_float(Half{static_cast<std::uint16_t>(bits)})}; };
    add_around(half(pattern), half(pattern + 1));
  }
  for (std::uint32_t pattern = 0; pattern < 0x7f7f; ++pattern) {
    const auto brain = [](std::uint32_t bits) { return double{to_float(Bfloat16{static_cast<std::uint16_t>(bits)})}; };
    add_around(brain(pattern), brain(pattern + 1));
  }
  return values;
}

TEST(RoundToOdd, RoundsADoubleToHalfOnce) {
  EXPECT_EQ(to_half(round_to_odd(0x1.002p0 + 0x1p-40)).bits, 0x3c01);
  EXPECT_EQ(to_half(static_cast<float>(0x1.002p0 + 0x1p-40)).bits, 0x3c00) << "rounded twice";
  for (const double value : edge_doubles()) {
    const auto oracle = std::bit_cast<std::uint16_t>(static_cast<CompilerHalf>(value));
    ASSERT_EQ(to_half(round_to_odd(value)).bits, oracle) << value;
  }
}

// The nearer of the two neighbors, by exact differences of doubles; for a tie, the even one.
TEST(RoundToOdd, RoundsADoubleToBfloat16Once) {
  for (const double value : edge_doubles()) {
    const Bfloat16 got = to_bfloat16(round_to_odd(value));
    ASSERT_EQ(std::signbit(to_float(got)), std::signbit(value));
    const std::uint32_t magnitude = got.bits & 0x7fffU;
    const auto exact = [](std::uint32_t bits) {  // infinity counts as the next power of two
      return bits == 0x7f80U ? 0x1p128 : double{to_float(Bfloat16{static_cast<std::uint16_t>(bits)})};
    };
    if (std::fabs(value) >= 0x1p128) {
      ASSERT_EQ(magnitude, 0x7f80U) << value;
      continue;
    }
    const double away = std::fabs(std::fabs(value) - exact(magnitude));
    for (const std::uint32_t other : {magnitude - 1, magnitude + 1}) {
      if (other > 0x7f80U) continue;
      const double other_away = std::fabs(std::fabs(value) - exact(other));
      ASSERT_TRUE(away < other_away || (away == other_away && magnitude % 2 == 0)) << value;
    }
  }
}

TEST(RoundToOdd, KeepsWhatAFloatCanRepresent) {
  for (const float value : {0.0F, -1.5F, 0x1p-149F, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(bits_of(round_to_odd(double{value})), bits_of(value));
  }
  EXPECT_TRUE(std::isnan(round_to_odd(std::nan(""))));
  EXPECT_EQ(round_to_odd(1e300), std::numeric_limits<float>::max());
}

TEST(DType, NamesAndSizes) {
  std::set<std::string_view> names;
  for (const DType type : all_dtypes()) {
    EXPECT_TRUE(names.insert(name(type)).second) << name(type);
    EXPECT_EQ(parse_dtype(name(type)), type);
    EXPECT_GT(size_of(type), 0U);
  }
  EXPECT_EQ(names.size(), 11U);
  EXPECT_EQ(size_of(DType::float32), sizeof(float));
  EXPECT_EQ(size_of(DType::float16), sizeof(Half));
  EXPECT_EQ(size_of(DType::bfloat16), sizeof(Bfloat16));
  EXPECT_EQ(size_of(DType::boolean), 1U);
  EXPECT_EQ(size_of(DType::complex64), 2 * sizeof(float));
  EXPECT_EQ(size_of(DType::uint8), 1U);
  EXPECT_EQ(name(DType::boolean), "bool");
  EXPECT_EQ(name(DType::uint32), "uint32");
  EXPECT_EQ(short_name(DType::uint32), "u32");
}

TEST(DType, ValuesAreStable) {
  EXPECT_EQ(static_cast<int>(DType::float32), 1);
  EXPECT_EQ(static_cast<int>(DType::complex64), 9);
  EXPECT_EQ(static_cast<int>(DType::uint32), 10);
  EXPECT_EQ(static_cast<int>(DType::uint8), 11);
}

TEST(DType, UnknownNamesAndNumbers) {
  EXPECT_EQ(parse_dtype("float31"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_EQ(parse_dtype("Float32"), std::nullopt);
  EXPECT_EQ(name(static_cast<DType>(200)), "unknown");
  EXPECT_EQ(short_name(static_cast<DType>(200)), "unknown");
  EXPECT_EQ(size_of(static_cast<DType>(200)), 0U);
}

TEST(Precision, NamesTypesAndSizesAgree) {
  std::set<std::string_view> names;
  for (const Precision precision : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::int8}) {
    names.insert(name(precision));
    EXPECT_EQ(size_of(precision), size_of(dtype_of(precision)));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"fp32", "fp16", "bf16", "int8"}));
  EXPECT_EQ(size_of(Precision::fp32), 4U);
  EXPECT_EQ(size_of(Precision::fp16), 2U);
  EXPECT_EQ(size_of(Precision::bf16), 2U);
  EXPECT_EQ(size_of(Precision::int8), 1U);
}

}  // namespace
}  // namespace vectis
