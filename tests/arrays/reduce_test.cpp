// Reductions against loops over indices.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

// The elements that each result is reduced from, in row-major order.
std::vector<std::vector<double>> groups_of(const Dense& x, const Shape& axes, Shape& kept) {
  kept = x.shape;
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(kept.elements()));
  for_each_index(x.shape, [&](const Shape& index) {
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < kept.rank(); ++axis) {
      position = position * kept[axis] + (kept[axis] == 1 ? 0 : index[axis]);
    }
    groups[static_cast<std::size_t>(position)].push_back(x.at(index));
  });
  return groups;
}

Dense reduced(const Dense& x, const Shape& axes, const std::function<double(const std::vector<double>&)>& f) {
  Shape kept;
  const std::vector<std::vector<double>> groups = groups_of(x, axes, kept);
  Dense result{kept, {}};
  for (const std::vector<double>& group : groups) result.values.push_back(f(group));
  return result;
}

double sum_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum;
}
double variance_of(const std::vector<double>& x) {
  const double mean = sum_of(x) / static_cast<double>(x.size());
  double sum = 0;
  for (const double value : x) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(x.size());
}

// Some axes of an array, in increasing order; at least one unless it has none.
Shape random_axes(std::mt19937_64& random, std::size_t rank) {
  Shape axes;
  while (axes.empty() && rank > 0) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (random() % 2 == 0) axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return axes;
}

}  // namespace

TEST(ArrayReductions, AgreeWithLoops) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 200; ++round) {
    Shape shape = random_shape(random);
    if (round % 40 == 0) shape = {3, 20000};  // rows of several chunks
    if (round % 40 == 1) shape = {70, 1100};  // columns of several strips
    const Dense x = random_dense(random, shape);
    const Shape axes = random_axes(random, shape.rank());
    for (const DType type : {DType::float64, DType::float32}) {
      const Tensor tensor = x.tensor().astype(type);
      const Dense single{shape, values_of(tensor)};
      const double tolerance = type == DType::float64 ? 1e-11 : 1e-5;
      const std::string what = "round " + std::to_string(round) + ", " + to_string(shape) + " over " + to_string(axes);
      expect_near(sum(tensor, axes, true), reduced(single, axes, sum_of), tolerance, "sum, " + what);
      const Dense product = reduced(single, axes, [](const std::vector<double>& v) {
        double result = 1;
        for (const double value : v) result *= value;
        return result;
      });
      if (shape.elements() < 1000) expect_near(prod(tensor, axes, true), product, tolerance, "prod, " + what);
      if (single.values.empty()) continue;
      expect_near(mean(tensor, axes, true),
                  reduced(single, axes, [](const auto& v) { return sum_of(v) / static_cast<double>(v.size()); }),
                  tolerance, "mean, " + what);
      expect_near(var(tensor, axes, 0, true), reduced(single, axes, variance_of), tolerance, "var, " + what);
      expect_equal(max(tensor, axes, true),
                   reduced(single, axes, [](const auto& v) { return *std::ranges::max_element(v); }), "max, " + what);
      expect_equal(min(tensor, axes, true),
                   reduced(single, axes, [](const auto& v) { return *std::ranges::min_element(v); }), "min, " + what);
      expect_near(norm(tensor, axes, true),
                  reduced(single, axes,
                          [](const auto& v) {
                            double squares = 0;
                            for (const double value : v) squares += value * value;
                            return std::sqrt(squares);
                          }),
                  tolerance, "norm, " + what);
      expect_near(logsumexp(tensor, axes, true),
                  reduced(single, axes,
                          [](const auto& v) {
                            double total = 0;
                            for (const double value : v) total += std::exp(value);
                            return std::log(total);
                          }),
                  tolerance, "logsumexp, " + what);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ArrayReductions, ArgumentsAreTheFirstExtremum) {
  std::mt19937_64 random(seed());
  for (int round = 0; round < 60; ++round) {
    Shape shape = random_shape(random);
    if (round % 20 == 0) shape = {2, 40000};
    if (shape.rank() == 0 || shape.elements() == 0) continue;
    // Only some different values, so that extrema occur several times.
    const Dense x = dense(shape, [&](const Shape&) { return static_cast<double>(random() % 5); });
    const auto axis = static_cast<std::int64_t>(random() % shape.rank());
    const Tensor tensor = x.tensor().astype(round % 2 == 0 ? DType::float32 : DType::int32);
    expect_equal(
        argmax(tensor, axis, true),
        reduced(x, {axis}, [](const auto& v) { return static_cast<double>(std::ranges::max_element(v) - v.begin()); }),
        "argmax");
    expect_equal(
        argmin(tensor, axis, true),
        reduced(x, {axis}, [](const auto& v) { return static_cast<double>(std::ranges::min_element(v) - v.begin()); }),
        "argmin");
  }
}

TEST(ArrayReductions, NanIsAnExtremum) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::from_cpu(std::vector<float>{1, nan, 3, nan}, {2, 2});
  EXPECT_TRUE(std::isnan(max(x).item()));
  EXPECT_TRUE(std::isnan(min(x, {1}).to_cpu<float>()[0]));
  EXPECT_EQ(argmax(x).item<int>(), 1);
  EXPECT_EQ(argmin(x).item<int>(), 1);
  EXPECT_TRUE(std::isnan(sum(x).item()));
}

TEST(ArrayReductions, OfIntegersAndTruth) {
  EXPECT_EQ(sum(full({1000}, 100, DType::int8)).item<int>(), 100000);
  EXPECT_EQ(sum(full({1000}, 100, DType::int8)).dtype(), DType::int32);
  EXPECT_EQ(max(full({3}, 200, DType::uint8)).item<int>(), 200);
  EXPECT_EQ(sum(full({3}, std::int64_t{1} << 40, DType::int64)).item<std::int64_t>(), 3 * (std::int64_t{1} << 40));
  const Tensor x = Tensor::from_cpu(std::vector<std::int32_t>{0, 1, 2, 3}, {2, 2});
  EXPECT_EQ(all(x, {1}).to_cpu<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ(any(x, {0}).to_cpu<bool>(), (std::vector<bool>{true, true}));
  EXPECT_EQ(count_nonzero(x).item<int>(), 3);
  EXPECT_TRUE(all(zeros({0, 3})).item<bool>());
  EXPECT_EQ(any(zeros({0, 3}), {0}).to_cpu<bool>(), (std::vector<bool>{false, false, false}));
}

TEST(ArrayReductions, SoftmaxOfLargeNumbers) {
  std::mt19937_64 random(seed());
  const Dense x = random_dense(random, {4, 9}, 500, 1000);
  const Tensor found = softmax(x.tensor(), -1);
  Dense expected{x.shape, {}};
  for (std::int64_t row = 0; row < 4; ++row) {
    double largest = 0;
    double total = 0;
    for (std::int64_t i = 0; i < 9; ++i) largest = std::max(largest, x.at({row, i}));
    for (std::int64_t i = 0; i < 9; ++i) total += std::exp(x.at({row, i}) - largest);
    for (std::int64_t i = 0; i < 9; ++i) expected.values.push_back(std::exp(x.at({row, i}) - largest) / total);
  }
  expect_near(found, expected, 1e-13, "softmax");
  expect_near(exp(log_softmax(x.tensor())), expected, 1e-12, "log_softmax");
}

// Sums do not depend on the number of threads.
TEST(ArrayReductions, AreTheSameForAnyNumberOfThreads) {
  std::mt19937_64 random(seed());
  const Dense x = random_dense(random, {100000});
  std::vector<float> values(x.values.begin(), x.values.end());
  std::vector<float> sums;
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{7}}) {
    Runtime runtime(with_threads(threads));
    sums.push_back(sum(Tensor::from_cpu(values, {100000}, {.runtime = &runtime})).to_cpu<float>()[0]);
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(sums[0], sums[2]);
}

}  // namespace vectis::test
