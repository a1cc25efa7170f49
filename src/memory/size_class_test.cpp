#include "memory/size_class.hpp"

#include <gtest/gtest.h>

#include "tests/support/seed.hpp"
#include "vectis/base/random.hpp"

namespace vectis::detail {
namespace {

TEST(SizeClass, SmallSizesAreMultiplesOfTheUnit) {
  EXPECT_EQ(class_bytes(1, 256), 256U);
  EXPECT_EQ(class_bytes(256, 256), 256U);
  EXPECT_EQ(class_bytes(257, 256), 512U);
  EXPECT_EQ(class_bytes(4096, 256), 4096U);
}

TEST(SizeClass, WastesAtMostASixteenth) {
  Random random(test::seed());
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t bytes = 1 + (random.next() >> (2 + random.below(60)));
    const std::uint64_t rounded = class_bytes(bytes, 256);
    ASSERT_GE(rounded, bytes);
    ASSERT_EQ(rounded % 256, 0U);
    ASSERT_LE(rounded - bytes, std::max<std::uint64_t>(255, bytes / 16 + 255)) << bytes;
    ASSERT_EQ(class_bytes(rounded, 256), rounded) << bytes;
  }
}

TEST(SizeClass, WorksWithOddUnits) {
  for (const std::uint64_t bytes : {1ULL, 767ULL, 768ULL, 769ULL, 1000000ULL})
    EXPECT_EQ(class_bytes(bytes, 768) % 768, 0U);
}

}  // namespace
}  // namespace vectis::detail
