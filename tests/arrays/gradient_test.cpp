// Gradients against finite differences, and what users build on them.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/arrays/operation_cases.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

}  // namespace

TEST(ArrayGradients, AgreeWithDifferences) {
  std::mt19937_64 random(seed());
  for (const OperationCase& one : operation_cases()) {
    const std::vector<Tensor> arguments = random_arguments(random, one);
    const GradientCheck check = check_gradient([&](Arguments x) { return weighted(one.function(x)); }, arguments);
    EXPECT_LT(check.error_max, 1e-6) << one.name << ", argument " << check.argument << ", element " << check.element
                                     << ": " << check.from_gradient << ", differences " << check.from_differences;
  }
}

// The gradient of a sum of cubes of gradients is a second derivative.
TEST(ArrayGradients, OfSecondOrderAgreeWithDifferences) {
  std::mt19937_64 random(seed());
  for (const OperationCase& one : operation_cases()) {
    const std::string_view name = one.name;
    if (name == "prod") continue;  // its gradient divides where it may
    const std::vector<Tensor> arguments = random_arguments(random, one);
    const auto squared_gradient = [&](Arguments x) {
      const ValueAndGradients first = value_and_grad([&](Arguments y) { return weighted(one.function(y)); }, x);
      Tensor total = full({}, 0, DType::float64);
      for (const Tensor& gradient : first.gradients) total = total + sum(square(gradient));
      return total;
    };
    const GradientCheck check = check_gradient(squared_gradient, arguments, 0x1p-14);
    EXPECT_LT(check.error_max, 1e-5) << one.name << ", argument " << check.argument << ", element " << check.element
                                     << ": " << check.from_gradient << ", differences " << check.from_differences;
  }
}

TEST(ArrayGradients, OfExamplesByHand) {
  const Tensor x = Tensor::from_cpu(std::vector<float>{3}, {});
  const auto cube = [](const Tensor& v) { return v * v * v; };
  const auto [value, slope] = value_and_grad(cube, x);
  EXPECT_EQ(value.item(), 27);
  EXPECT_EQ(slope.item(), 27);
  const auto second = [&](const Tensor& v) { return grad(cube, v); };
  EXPECT_EQ(grad(second, x).item(), 18);
  EXPECT_EQ(grad([&](const Tensor& v) { return grad(second, v); }, x).item(), 6);
}

TEST(ArrayGradients, AreZeroWhereNothingDepends) {
  const Tensor x = ones({2});
  const Tensor y = ones({3});
  const ValueAndGradients result =
      value_and_grad([](Arguments a) { return sum(stop_gradient(a[0])) * 2 + sum(floor(a[0])); }, std::vector{x, y});
  expect_equal(result.gradients[0], {{2}, {0, 0}}, "stopped");
  expect_equal(result.gradients[1], {{3}, {0, 0, 0}}, "unused");
}

TEST(ArrayGradients, NoGradientRecordsNone) {
  const Tensor x = ones({2});
  const Tensor gradient = grad(
      [](const Tensor& v) {
        Tensor constant;
        {
          const NoGradient pause;
          constant = v * 5;
        }
        return sum(constant * v);
      },
      x);
  expect_equal(gradient, {{2}, {5, 5}}, "constant factor");
  // A gradient taken inside is complete.
  const NoGradient pause;
  expect_equal(grad([](const Tensor& v) { return sum(v * v); }, x), {{2}, {2, 2}}, "inside");
}

TEST(ArrayGradients, CustomFunctionsHaveTheirOwn) {
  const Tensor x = Tensor::from_cpu(std::vector<double>{1, 2}, {2});
  const auto doubled = [](const Tensor&, Arguments, const Tensor& adjoint) { return std::vector{adjoint * 100}; };
  const auto function = [&](const Tensor& v) {
    return sum(custom_function([](Arguments a) { return square(a[0]); }, doubled, {&v, 1}) * v);
  };
  const auto [value, gradient] = value_and_grad(function, x);
  EXPECT_EQ(value.item(), 9);
  expect_equal(gradient, {{2}, {101, 204}}, "custom");  // v^2 + 100 v
  EXPECT_ERROR(grad(
                   [&](const Tensor& v) {
                     return sum(custom_function(
                         [](Arguments a) { return a[0]; },
                         [](const Tensor&, Arguments, const Tensor&) { return std::vector<Tensor>(2); }, {&v, 1}));
                   },
                   x)
                   .eval(),
               ErrorCode::invalid_input, "[custom_function]", "2 arrays for 1 arguments");
}

TEST(ArrayGradients, OfFloat16HaveItsType) {
  const Tensor x = ones({3}, DType::float16);
  const Tensor gradient = grad([](const Tensor& v) { return sum(v.astype(DType::float32) * 2); }, x);
  EXPECT_EQ(gradient.dtype(), DType::float16);
  expect_equal(gradient, {{3}, {2, 2, 2}}, "converted");
}

TEST(ArrayGradients, RejectWhatHasNone) {
  const Tensor x = ones({2});
  EXPECT_ERROR(grad([](const Tensor& v) { return v; }, x), ErrorCode::invalid_input, "[value_and_grad]", "(2,)");
  EXPECT_ERROR(grad([](const Tensor& v) { return sum(v); }, ones({2}, DType::int32)), ErrorCode::invalid_input,
               "int32");
  EXPECT_ERROR(value_and_grad([](Arguments) { return ones({}); }, {}), ErrorCode::invalid_input, "at least one");
  EXPECT_ERROR(check_gradient([](Arguments a) { return sum(a[0]); }, std::vector{x}), ErrorCode::invalid_input,
               "float64");
}

// A step of training that is repeated drops the graphs of the steps before.
TEST(ArrayGradients, TrainARegression) {
  std::mt19937_64 random(seed());
  const Tensor x = random_dense(random, {64, 3}).tensor().astype(DType::float32);
  const Tensor truth = Tensor::from_cpu(std::vector<float>{1, -2, 0.5F}, {3, 1});
  const Tensor y = matmul(x, truth);
  Tensor weights = zeros({3, 1});
  double last = 1e9;
  for (int step = 0; step < 200; ++step) {
    const auto [loss, gradient] =
        value_and_grad([&](const Tensor& w) { return mean(square(matmul(x, w) - y)); }, weights);
    weights = weights - gradient * 0.1;
    if (step == 1 || step == 10 || step == 30) {
      EXPECT_LT(loss.item(), last);
      last = loss.item();
    }
  }
  expect_near(weights, {{3, 1}, {1, -2, 0.5}}, 1e-3, "weights");
}

}  // namespace vectis::test
