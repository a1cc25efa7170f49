#include "vectis/search/distance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace vectis {
namespace {

using Floats = std::vector<float>;

TEST(DistanceTest, NamesAreReadBack) {
  for (const Distance distance : all_distances()) EXPECT_EQ(parse_distance(name(distance)), distance);
  EXPECT_EQ(parse_distance("L2"), std::nullopt);
}

TEST(DistanceTest, OfSmallVectorsByHand) {
  const Floats q{1, 2, 3};
  const Floats x{4, 2, -1};
  EXPECT_EQ(exact_distance(Distance::euclidean, q, x), 5.0);
  EXPECT_EQ(exact_distance(Distance::inner_product, q, x), -5.0);
  EXPECT_EQ(exact_distance(Distance::cosine, q, x), 1.0 - 5.0 / (std::sqrt(14.0) * std::sqrt(21.0)));
  EXPECT_EQ(exact_distance(Distance::manhattan, q, x), 7.0);
  EXPECT_EQ(exact_distance(Distance::chebyshev, q, x), 4.0);
  EXPECT_EQ(exact_distance(Distance::hamming, q, x), 2.0);
}

TEST(DistanceTest, ZeroIsAtOneFromEverythingUnderCosine) {
  const Floats zero{0, 0};
  EXPECT_EQ(exact_distance(Distance::cosine, zero, Floats{3, 4}), 1.0);
  EXPECT_EQ(exact_distance(Distance::cosine, zero, zero), 1.0);
}

TEST(DistanceTest, TheLargestNumbersStayFinite) {
  const Floats high(4, std::numeric_limits<float>::max());
  const Floats low(4, std::numeric_limits<float>::lowest());
  for (const Distance distance : all_distances()) {
    EXPECT_TRUE(std::isfinite(exact_distance(distance, high, low))) << name(distance);
  }
}

TEST(DistanceTest, NegativeZeroEqualsZero) {
  EXPECT_EQ(exact_distance(Distance::hamming, Floats{0.0F}, Floats{-0.0F}), 0.0);
}

}  // namespace
}  // namespace vectis
