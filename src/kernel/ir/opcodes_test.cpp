#include "kernel/ir/opcodes.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::ir {
namespace {

TEST(IrOpcodes, OperationsAreFoundByName) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < op_count; ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_EQ(parse_op(name(op)), op);
    EXPECT_LE(operand_count(op), 3U);
    names.insert(name(op));
  }
  EXPECT_EQ(names.size(), op_count);
  EXPECT_EQ(parse_op("adds"), std::nullopt);
  EXPECT_EQ(parse_value_type("bool"), DType::boolean);
  EXPECT_EQ(parse_element_type("bf16"), DType::bfloat16);
}

TEST(IrOpcodes, ResultTypesFollowFromOperands) {
  const auto type = [](Op op, std::initializer_list<DType> operands) {
    return result_type(op, std::vector<DType>(operands));
  };
  using enum DType;
  EXPECT_EQ(type(Op::add, {uint32, uint32}), uint32);
  EXPECT_EQ(type(Op::add, {uint32, int32}), std::nullopt);
  EXPECT_EQ(type(Op::add, {boolean, boolean}), std::nullopt);
  EXPECT_EQ(type(Op::lt, {float32, float32}), boolean);
  EXPECT_EQ(type(Op::lt, {boolean, boolean}), std::nullopt);
  EXPECT_EQ(type(Op::eq, {boolean, boolean}), boolean);
  EXPECT_EQ(type(Op::select, {boolean, int32, int32}), int32);
  EXPECT_EQ(type(Op::select, {int32, int32, int32}), std::nullopt);
  EXPECT_EQ(type(Op::exp, {int32}), std::nullopt);
  EXPECT_EQ(type(Op::fma, {float32, float32, float32}), float32);
  EXPECT_EQ(type(Op::fma, {float32, float32}), std::nullopt);
  EXPECT_EQ(type(Op::bit_not, {boolean}), boolean);
  EXPECT_EQ(type(Op::shl, {boolean, boolean}), std::nullopt);
  EXPECT_EQ(type(Op::random, {uint32, uint32}), uint32);
  EXPECT_EQ(type(Op::random, {int32, int32}), std::nullopt);
  EXPECT_EQ(type(Op::gather, {uint32}), std::nullopt);
}

// Stable between versions: a program must reproduce its results.
TEST(IrRandom, ValuesNeverChange) {
  EXPECT_EQ(random_u32(0, 0), 1119827525U);
  EXPECT_EQ(random_u32(1, 0), 2202188187U);
  EXPECT_EQ(random_u32(0, 1), 1727587044U);
  EXPECT_EQ(random_u32(0xffffffffU, 0xffffffffU), 2697554768U);
}

// Birthday test: among n values of 32 bits, about n * n / 2^33 occurred before. With n = 2^20 that is a Poisson
// variable of mean 128.
TEST(IrRandom, ValuesOfAKeyRepeatAsOftenAsRandomOnes) {
  constexpr std::uint32_t draws = 1U << 19U;
  for (const std::uint32_t key : {0U, 12345U}) {
    std::vector<std::uint32_t> values(draws);
    for (std::uint32_t i = 0; i < draws; ++i) values[i] = random_u32(key, i);
    std::ranges::sort(values);
    const auto repeated = std::ranges::unique(values);
    EXPECT_NEAR(static_cast<double>(repeated.size()), 32, 5 * std::sqrt(32)) << key;
  }
}

// Avalanche test: flipping any bit of key or counter flips every bit of the result half the time. 64 x 32 frequencies
// of 4,000 trials each, within six standard deviations.
TEST(IrRandom, HasLowAvalancheBias) {
  Random random(test::seed());
  constexpr int trials = 4000;
  const double limit = 6 * std::sqrt(0.25 * trials);
  for (unsigned flipped = 0; flipped < 64; ++flipped) {
    std::array<int, 32> changed{};
    for (int trial = 0; trial < trials; ++trial) {
      // Small counters and keys, as in practice.
      const auto key = static_cast<std::uint32_t>(random.below(1U << 16U));
      const auto counter = static_cast<std::uint32_t>(random.below(1U << 20U));
      const std::uint32_t other =
          flipped < 32 ? random_u32(key ^ (1U << flipped), counter) : random_u32(key, counter ^ (1U << (flipped - 32)));
      const std::uint32_t difference = random_u32(key, counter) ^ other;
      for (unsigned bit = 0; bit < 32; ++bit) changed[bit] += static_cast<int>((difference >> bit) & 1U);
    }
    for (unsigned bit = 0; bit < 32; ++bit)
      EXPECT_NEAR(changed[bit], trials / 2.0, limit) << "flipped " << flipped << " bit " << bit;
  }
}

// Serial test: chi-square over 16 x 16 cells of successive values, for adjacent counters and adjacent keys. 255 degrees
// of freedom: mean 255, standard deviation 22.6.
TEST(IrRandom, NeighborsAreIndependent) {
  constexpr std::uint32_t draws = 1U << 16U;
  for (const std::uint32_t key : {0U, 1U, 12345U}) {
    for (const bool along_keys : {false, true}) {
      std::array<int, 256> cells{};
      for (std::uint32_t i = 0; i < draws; ++i) {
        const std::uint32_t a = along_keys ? random_u32(i, key) : random_u32(key, i);
        const std::uint32_t b = along_keys ? random_u32(i + 1, key) : random_u32(key, i + 1);
        ++cells[((a >> 28U) << 4U) | (b >> 28U)];
      }
      double chi_square = 0;
      for (const int count : cells) chi_square += (count - 256.0) * (count - 256.0) / 256.0;
      EXPECT_GT(chi_square, 255 - 5 * 22.6);
      EXPECT_LT(chi_square, 255 + 5 * 22.6);
    }
  }
}

}  // namespace
}  // namespace vectis::ir
