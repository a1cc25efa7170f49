#include "base/split.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "vectis/base/random.hpp"

namespace vectis {
namespace {

// Pieces are contiguous from 0 to count, and each except the last consists of whole grains.
void expect_cover(std::size_t count, std::size_t grain, std::size_t threads) {
  const Split split(count, grain, threads);
  const std::size_t least = grain == 0 ? 1 : grain;
  std::size_t next = 0;
  for (std::size_t i = 0; i < split.pieces(); ++i) {
    const SubRange range = split.piece(i);
    ASSERT_EQ(range.begin, next);
    ASSERT_GT(range.end, range.begin);
    if (i + 1 < split.pieces()) {
      ASSERT_GE(range.end - range.begin, least);
    }
    next = range.end;
  }
  ASSERT_EQ(next, count) << "count " << count << " grain " << grain << " threads " << threads;
  ASSERT_LE(split.pieces(), 8 * threads);
}

TEST(Split, NothingHasNoPieces) { EXPECT_EQ(Split(0, 1, 4).pieces(), 0U); }

TEST(Split, CoversEverySmallCase) {
  for (std::size_t count = 0; count < 70; ++count) {
    for (std::size_t grain = 0; grain < 12; ++grain) {
      for (std::size_t threads = 1; threads < 5; ++threads) {
        ASSERT_NO_FATAL_FAILURE(expect_cover(count, grain, threads));
      }
    }
  }
}

TEST(Split, CoversTheLargestCounts) {
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2}) {
    for (const std::size_t grain : {std::size_t{0}, std::size_t{1}, std::size_t{3}, SIZE_MAX / 3, SIZE_MAX}) {
      ASSERT_NO_FATAL_FAILURE(expect_cover(count, grain, 64));
    }
  }
}

TEST(Split, CoversRandomCases) {
  constexpr std::uint64_t seed = 31;
  Random random(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t count = random.next() >> random.below(64);
    const std::size_t grain = random.next() >> random.below(64);
    ASSERT_NO_FATAL_FAILURE(expect_cover(count, grain, 1 + random.below(32))) << "seed " << seed << " case " << i;
  }
}

TEST(Split, PiecesAreEven) {
  const Split split(1000, 1, 4);
  ASSERT_EQ(split.pieces(), 32U);
  for (std::size_t i = 0; i < split.pieces(); ++i) {
    const SubRange range = split.piece(i);
    EXPECT_GE(range.end - range.begin, 31U);
    EXPECT_LE(range.end - range.begin, 32U);
  }
}

}  // namespace
}  // namespace vectis
