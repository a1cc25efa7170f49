#include "vectis/search/metric.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace vectis {
namespace {

using Floats = std::vector<float>;

TEST(DistanceTest, NamesAreReadBack) {
  for (const Metric metric : all_metrics()) EXPECT_EQ(parse_metric(name(metric)), metric);
  EXPECT_EQ(parse_metric("L2"), std::nullopt);
}

TEST(DistanceTest, OfSmallVectorsByHand) {
  const Floats q{1, 2, 3};
  const Floats x{4, 2, -1};
  EXPECT_EQ(exact_distance(Metric::l2, q, x), 5.0);
  EXPECT_EQ(exact_distance(Metric::inner_product, q, x), -5.0);
  EXPECT_EQ(exact_distance(Metric::cosine, q, x), 1.0 - 5.0 / (std::sqrt(14.0) * std::sqrt(21.0)));
  EXPECT_EQ(exact_distance(Metric::l1, q, x), 7.0);
  EXPECT_EQ(exact_distance(Metric::chebyshev, q, x), 4.0);
  EXPECT_EQ(exact_distance(Metric::hamming, q, x), 2.0);
}

TEST(DistanceTest, ZeroIsAtOneFromEverythingUnderCosine) {
  const Floats zero{0, 0};
  EXPECT_EQ(exact_distance(Metric::cosine, zero, Floats{3, 4}), 1.0);
  EXPECT_EQ(exact_distance(Metric::cosine, zero, zero), 1.0);
}

TEST(DistanceTest, TheLargestNumbersStayFinite) {
  const Floats high(4, std::numeric_limits<float>::max());
  const Floats low(4, std::numeric_limits<float>::lowest());
  for (const Metric metric : all_metrics()) {
    EXPECT_TRUE(std::isfinite(exact_distance(metric, high, low))) << name(metric);
  }
}

TEST(DistanceTest, NegativeZeroEqualsZero) {
  EXPECT_EQ(exact_distance(Metric::hamming, Floats{0.0F}, Floats{-0.0F}), 0.0);
}

}  // namespace
}  // namespace vectis
