#include "vectis/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <vector>

namespace vectis {
namespace {

// A second implementation of the published algorithms, with 128-bit arithmetic where the compiler has it.
__extension__ typedef unsigned __int128 Wide;

struct Reference {
  std::array<std::uint64_t, 4> s{};

  explicit Reference(std::uint64_t seed) {
    for (auto& word : s) {
      std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }
  static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::uint64_t next() {
    const std::uint64_t result = rotate(s[1] * 5, 7) * 9;
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
  }
  std::uint64_t below(std::uint64_t bound) {
    Wide product = static_cast<Wide>(next()) * bound;
    const std::uint64_t refused = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < refused) product = static_cast<Wide>(next()) * bound;
    return static_cast<std::uint64_t>(product >> 64);
  }
};

TEST(Random, FollowsThePublishedSequence) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{42}, ~std::uint64_t{0}}) {
    Random random(seed);
    Reference reference(seed);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(random.next(), reference.next()) << "seed " << seed << " draw " << i;
  }
}

TEST(Random, SplitmixSeedingGivesItsKnownFirstValue) {
  // The published first value of SplitMix64 for seed 0.
  EXPECT_EQ(Reference(0).s[0], 0xe220a8397b1dcdafULL);
}

TEST(Random, BelowMatchesTheReferenceForAwkwardBounds) {
  Random bounds(7);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bound = (bounds.next() >> (i % 64)) | 1U;
    Random random(static_cast<std::uint64_t>(i));
    Reference reference(static_cast<std::uint64_t>(i));
    for (int draw = 0; draw < 8; ++draw) {
      const std::uint64_t value = random.below(bound);
      ASSERT_EQ(value, reference.below(bound)) << "seed " << i << " bound " << bound;
      ASSERT_LT(value, bound);
    }
  }
}

TEST(Random, BelowOfZeroAndOneIsZero) {
  Random random(3);
  EXPECT_EQ(random.below(0), 0U);
  EXPECT_EQ(random.below(1), 0U);
}

TEST(Random, BelowIsUniform) {
  constexpr std::uint64_t bound = 7;
  constexpr int draws = 70000;
  std::array<int, bound> counts{};
  Random random(11);
  for (int i = 0; i < draws; ++i) ++counts[random.below(bound)];
  double chi_squared = 0;
  for (const int count : counts) {
    const double off = count - draws / static_cast<double>(bound);
    chi_squared += off * off / (draws / static_cast<double>(bound));
  }
  EXPECT_LT(chi_squared, 22.5);  // 6 degrees of freedom, 0.1 %
}

TEST(Random, UnitIsInTheHalfOpenInterval) {
  Random random(5);
  double least = 1;
  double most = 0;
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  EXPECT_LT(least, 1e-3);
  EXPECT_GT(most, 1 - 1e-3);
  EXPECT_NEAR(sum / 100000, 0.5, 0.01);
}

TEST(Random, ASplitGeneratorIsIndependent) {
  Random parent(9);
  Random child = parent.split();
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(parent.next());
    seen.insert(child.next());
  }
  EXPECT_EQ(seen.size(), 2000U);
}

TEST(Random, ServesStandardAlgorithms) {
  std::vector<int> values(100);
  std::iota(values.begin(), values.end(), 0);
  auto shuffled = values;
  std::shuffle(shuffled.begin(), shuffled.end(), Random(1));
  EXPECT_NE(shuffled, values);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, values);
}

}  // namespace
}  // namespace vectis
