#include "search/exact/device/batch_tuner.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace vectis::exact {
namespace {

// The size that the tuner stays at when a batch takes `seconds(size)`.
std::size_t settled_size(BatchTuner& tuner, std::size_t limit, const std::function<double(std::size_t)>& seconds) {
  for (int i = 0; i < 60; ++i) {
    const std::size_t size = tuner.size(limit, 10'000, 10);
    EXPECT_GE(size, 1U);
    EXPECT_LE(size, limit);
    tuner.record(size, seconds(size));
  }
  return tuner.size(limit, 10'000, 10);
}

TEST(BatchTuner, KeepsTheLargestBatchWhereTheCostOfALaunchDominates) {
  BatchTuner tuner;
  EXPECT_EQ(settled_size(tuner, 1000, [](std::size_t size) { return 1e-3 + 1e-6 * static_cast<double>(size); }), 1000U);
}

TEST(BatchTuner, FindsASizeBelowALimitOfTheDevice) {
  BatchTuner tuner;
  // Above 250 queries the candidates leave the cache, and each query takes three times as long.
  const auto seconds = [](std::size_t size) { return 1e-5 + (size > 250 ? 3e-6 : 1e-6) * static_cast<double>(size); };
  EXPECT_EQ(settled_size(tuner, 1000, seconds), 250U);
}

TEST(BatchTuner, IgnoresOneSlowBatch) {
  BatchTuner tuner;
  int number = 0;
  const auto seconds = [&](std::size_t size) {
    const double usual = 1e-3 + 1e-6 * static_cast<double>(size);
    return number++ == 1 ? 100 * usual : usual;
  };
  EXPECT_EQ(settled_size(tuner, 512, seconds), 512U);
}

TEST(BatchTuner, BeginsAnewWithOtherWork) {
  BatchTuner tuner;
  settled_size(tuner, 1000, [](std::size_t size) { return 1e-9 * static_cast<double>(size * size); });
  EXPECT_LT(tuner.size(1000, 10'000, 10), 1000U);
  EXPECT_EQ(tuner.size(1000, 40'000, 10), 1000U);
  EXPECT_EQ(tuner.size(700, 40'000, 10), 700U);
}

TEST(BatchTuner, SmallLimitsAreUsedWhole) {
  BatchTuner tuner;
  for (const std::size_t limit : {1U, 2U, 33U, 63U}) {
    EXPECT_EQ(settled_size(tuner, limit, [](std::size_t size) { return 1e-9 * static_cast<double>(size * size); }),
              limit);
  }
}

TEST(BatchTuner, IgnoresPartialBatches) {
  BatchTuner tuner;
  EXPECT_EQ(tuner.size(100, 10, 10), 100U);
  for (int i = 0; i < 10; ++i) tuner.record(99, 1e-9);
  EXPECT_EQ(tuner.size(100, 10, 10), 100U);
}

}  // namespace
}  // namespace vectis::exact
