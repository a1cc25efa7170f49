// Searches of a graph among vectors whose coordinates, or squared distances, are subnormal floats.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/graph/projection.hpp"
#include "tests/support/brute_force.hpp"
#include "vectis/base/runtime.hpp"

namespace vectis {
namespace {

constexpr float subnormal_step = std::numeric_limits<float>::denorm_min();

class GraphSubnormalTest : public testing::Test {
 protected:
  Runtime runtime;
};

TEST_F(GraphSubnormalTest, OrdersVectors) {
  const auto index = make_index("graph", 1, Metric::l2, {.runtime = &runtime});
  test::Floats vectors(50);
  for (std::size_t i = 0; i < vectors.size(); ++i) vectors[i] = static_cast<float>(i) * subnormal_step;
  const test::BruteForce truth = test::fill_index(*index, vectors);
  test::expect_same(*index, truth, vectors, 3);
  test::expect_same(*index, truth, vectors, 3, {.ef = 50});
}

// In single precision, squares of 0.4 steps vanish, however many are added, and one of 0.9 steps is rounded up.
TEST_F(GraphSubnormalTest, OrdersSquaredDistances) {
  constexpr std::size_t dim = 16;
  constexpr std::size_t long_rows = 8;  // they set the scale of the encoding: 1
  test::Floats vectors((long_rows + 2) * dim);
  for (std::size_t i = 0; i < long_rows; ++i) vectors[i * dim + i] = 0.75F;
  const auto root = [](double steps) { return static_cast<float>(std::sqrt(steps * double{subnormal_step})); };
  for (std::size_t i = 0; i < dim; ++i) vectors[long_rows * dim + i] = root(0.4);
  vectors[(long_rows + 1) * dim] = root(0.9);
  const auto index = make_index("graph", dim, Metric::l2, {.runtime = &runtime});
  const test::BruteForce truth = test::fill_index(*index, vectors);
  const test::Floats query(dim);
  ASSERT_EQ(truth.search(query, 1).front().id, long_rows + 1);
  test::expect_same(*index, truth, query, 1);
  test::expect_same(*index, truth, query, 1, {.ef = 20});
}

TEST_F(GraphSubnormalTest, ScalesAreNormalFloats) {
  graph::Projection projection = graph::make_projection(Metric::l2, 1);
  for (projection.exponent = -148; projection.exponent <= 128; ++projection.exponent) {
    const float scale = graph::float_scale(projection);
    EXPECT_TRUE(std::isnormal(scale)) << "exponent " << projection.exponent;
    if (std::abs(projection.exponent) > 126) continue;
    EXPECT_EQ(scale, std::ldexp(1.0F, -projection.exponent));
  }
}

}  // namespace
}  // namespace vectis
