// Gradients against finite differences, and what users build on them.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;
using Arguments = std::span<const Tensor>;

// A function with the range of arguments where it is smooth.
struct Case {
  const char* name;
  array::Function function;  // of any shape
  double low = -2;
  double high = 2;
  std::vector<Shape> shapes = {{2, 3}};
};

Tensor indices(const std::vector<std::int32_t>& values) {
  return Tensor::from_cpu(values, {static_cast<std::int64_t>(values.size())});
}

std::vector<Case> cases() {
  return {
      {"add", [](Arguments x) { return x[0] + x[1]; }, -2, 2, {{2, 3}, {3}}},
      {"subtract", [](Arguments x) { return x[0] - x[1]; }, -2, 2, {{2, 1}, {3}}},
      {"multiply", [](Arguments x) { return x[0] * x[1]; }, -2, 2, {{2, 3}, {3}}},
      {"divide", [](Arguments x) { return x[0] / x[1]; }, 0.5, 2, {{2, 3}, {2, 3}}},
      {"remainder", [](Arguments x) { return remainder(x[0] * 5, x[1]); }, 0.7, 1, {{5}, {5}}},
      {"fmod", [](Arguments x) { return fmod(x[0] * 5, x[1]); }, 0.7, 1, {{5}, {5}}},
      {"power", [](Arguments x) { return power(x[0], x[1]); }, 0.5, 2, {{2, 3}, {3}}},
      {"power of negative", [](Arguments x) { return power(x[0], 3); }, -2, -0.5},
      {"atan2", [](Arguments x) { return atan2(x[0], x[1]); }, 0.5, 2, {{4}, {4}}},
      {"hypot", [](Arguments x) { return hypot(x[0], x[1]); }, 0.5, 2, {{4}, {4}}},
      {"logaddexp", [](Arguments x) { return logaddexp(x[0], x[1]); }, -2, 2, {{4}, {4}}},
      {"minimum", [](Arguments x) { return minimum(x[0], x[1]); }, -2, 2, {{4}, {4}}},
      {"maximum", [](Arguments x) { return maximum(x[0], x[1]); }, -2, 2, {{4}, {4}}},
      {"clip", [](Arguments x) { return clip(x[0], -1, 1); }},
      {"negative", [](Arguments x) { return -x[0]; }},
      {"absolute", [](Arguments x) { return absolute(x[0]); }, 0.1, 2},
      {"square", [](Arguments x) { return square(x[0]); }},
      {"reciprocal", [](Arguments x) { return reciprocal(x[0]); }, 0.5, 2},
      {"sqrt", [](Arguments x) { return sqrt(x[0]); }, 0.5, 2},
      {"rsqrt", [](Arguments x) { return rsqrt(x[0]); }, 0.5, 2},
      {"exp", [](Arguments x) { return exp(x[0]); }},
      {"exp2", [](Arguments x) { return exp2(x[0]); }},
      {"expm1", [](Arguments x) { return expm1(x[0]); }},
      {"log", [](Arguments x) { return log(x[0]); }, 0.5, 2},
      {"log2", [](Arguments x) { return log2(x[0]); }, 0.5, 2},
      {"log10", [](Arguments x) { return log10(x[0]); }, 0.5, 2},
      {"log1p", [](Arguments x) { return log1p(x[0]); }, -0.5, 2},
      {"sin", [](Arguments x) { return sin(x[0]); }},
      {"cos", [](Arguments x) { return cos(x[0]); }},
      {"tan", [](Arguments x) { return tan(x[0]); }, -1, 1},
      {"sinh", [](Arguments x) { return sinh(x[0]); }},
      {"cosh", [](Arguments x) { return cosh(x[0]); }},
      {"tanh", [](Arguments x) { return tanh(x[0]); }},
      {"asin", [](Arguments x) { return asin(x[0]); }, -0.9, 0.9},
      {"acos", [](Arguments x) { return acos(x[0]); }, -0.9, 0.9},
      {"atan", [](Arguments x) { return atan(x[0]); }},
      {"asinh", [](Arguments x) { return asinh(x[0]); }},
      {"acosh", [](Arguments x) { return acosh(x[0]); }, 1.2, 3},
      {"atanh", [](Arguments x) { return atanh(x[0]); }, -0.9, 0.9},
      {"erf", [](Arguments x) { return erf(x[0]); }},
      {"sigmoid", [](Arguments x) { return sigmoid(x[0]); }},
      {"relu", [](Arguments x) { return relu(x[0]); }},
      {"leaky_relu", [](Arguments x) { return leaky_relu(x[0]); }},
      {"elu", [](Arguments x) { return elu(x[0]); }},
      {"gelu", [](Arguments x) { return gelu(x[0]); }},
      {"silu", [](Arguments x) { return silu(x[0]); }},
      {"softplus", [](Arguments x) { return softplus(x[0]); }},
      {"where", [](Arguments x) { return where(greater(x[0], 0), x[0] * x[1], x[1]); }, -2, 2, {{4}, {4}}},
      {"reshape", [](Arguments x) { return reshape(x[0], {3, 2}); }},
      {"permute", [](Arguments x) { return permute_dims(x[0], {2, 0, 1}); }, -2, 2, {{2, 3, 4}}},
      {"slice", [](Arguments x) { return slice(x[0], 1, {.step = -2}); }, -2, 2, {{2, 5}}},
      {"slice of nothing", [](Arguments x) { return sum(slice(x[0], 0, {.stop = 0})) + sum(x[0]); }},
      {"select", [](Arguments x) { return x[0][1]; }},
      {"broadcast", [](Arguments x) { return broadcast_to(x[0], {4, 2, 3}); }, -2, 2, {{2, 1}}},
      {"flip", [](Arguments x) { return flip(x[0]); }},
      {"concat", [](Arguments x) { return concat(x, 1); }, -2, 2, {{2, 3}, {2, 1}}},
      {"stack", [](Arguments x) { return stack(x, 1); }, -2, 2, {{2, 3}, {2, 3}}},
      {"pad",
       [](Arguments x) { return pad(x[0], std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {0, 1}}, 3); }},
      {"tile", [](Arguments x) { return tile(x[0], {2, 2}); }},
      {"repeat", [](Arguments x) { return repeat(x[0], 3, 0); }},
      {"roll", [](Arguments x) { return roll(x[0], 1, 1); }},
      {"tril", [](Arguments x) { return tril(x[0]); }, -2, 2, {{3, 3}}},
      {"sum", [](Arguments x) { return sum(x[0], {1}); }},
      {"sum of axes apart", [](Arguments x) { return sum(x[0], {0, 2}); }, -2, 2, {{2, 3, 2}}},
      {"prod", [](Arguments x) { return prod(x[0], {1}); }},
      {"mean", [](Arguments x) { return mean(x[0], {0}, true); }},
      {"var", [](Arguments x) { return var(x[0], {1}, 1); }},
      {"stddev", [](Arguments x) { return stddev(x[0], {1}); }},
      {"max", [](Arguments x) { return max(x[0], {1}); }},
      {"min", [](Arguments x) { return min(x[0]); }},
      {"norm", [](Arguments x) { return norm(x[0], {1}); }},
      {"logsumexp", [](Arguments x) { return logsumexp(x[0], {1}); }},
      {"softmax", [](Arguments x) { return softmax(x[0]); }},
      {"log_softmax", [](Arguments x) { return log_softmax(x[0], 0); }},
      {"matmul", [](Arguments x) { return matmul(x[0], x[1]); }, -2, 2, {{2, 3}, {3, 4}}},
      {"matmul of batches", [](Arguments x) { return matmul(x[0], x[1]); }, -2, 2, {{2, 1, 2, 3}, {3, 3, 2}}},
      {"matmul of vectors", [](Arguments x) { return matmul(x[0], x[1]); }, -2, 2, {{3}, {3}}},
      {"outer", [](Arguments x) { return outer(x[0], x[1]); }, -2, 2, {{3}, {2}}},
      {"vecdot", [](Arguments x) { return vecdot(x[0], x[1]); }, -2, 2, {{2, 3}, {3}}},
      {"take", [](Arguments x) { return take(x[0], indices({0, 2, 0, -1}), 1); }},
      {"take_along_axis", [](Arguments x) { return take_along_axis(x[0], indices({0, 2, 2, 1}).reshape({2, 2}), 1); }},
      {"put_along_axis",
       [](Arguments x) { return put_along_axis(x[0], indices({0, 2, 2, 2}).reshape({2, 2}), x[1], 1); },
       -2,
       2,
       {{2, 3}, {2, 2}}},
      {"add_along_axis",
       [](Arguments x) { return add_along_axis(x[0], indices({0, 2, 2, 2}).reshape({2, 2}), x[1], 1); },
       -2,
       2,
       {{2, 3}, {2, 2}}},
      {"index_add", [](Arguments x) { return index_add(x[0], indices({1, 1, 0}), x[1]); }, -2, 2, {{2, 3}, {3, 3}}},
      {"sort", [](Arguments x) { return sort(x[0], 0, true); }},
      {"top_k", [](Arguments x) { return top_k(x[0], 2).first; }},
      {"cumulative_sum", [](Arguments x) { return cumulative_sum(x[0], 0); }},
      {"einsum", [](Arguments x) { return einsum("ij,jk,ii->ki", x); }, -2, 2, {{2, 3}, {3, 2}, {2, 2}}},
      {"checkpoint", [](Arguments x) { return checkpoint([](Arguments y) { return tanh(exp(y[0])); }, x); }},
  };
}

// A weighted sum of all elements, so that each has another adjoint.
Tensor weighted(const Tensor& x) {
  return sum(flatten(x) * cos(arange(0, static_cast<double>(x.elements()), 1, DType::float64)));
}

std::vector<Tensor> random_arguments(std::mt19937_64& random, const Case& one) {
  std::vector<Tensor> arguments;
  for (const Shape& shape : one.shapes) arguments.push_back(random_dense(random, shape, one.low, one.high).tensor());
  return arguments;
}

}  // namespace

TEST(ArrayGradients, AgreeWithDifferences) {
  std::mt19937_64 random(seed());
  for (const Case& one : cases()) {
    const std::vector<Tensor> arguments = random_arguments(random, one);
    const GradientCheck check = check_gradient([&](Arguments x) { return weighted(one.function(x)); }, arguments);
    EXPECT_LT(check.error_max, 1e-6) << one.name << ", argument " << check.argument << ", element " << check.element
                                     << ": " << check.from_gradient << ", differences " << check.from_differences;
  }
}

// The gradient of a sum of cubes of gradients is a second derivative.
TEST(ArrayGradients, OfSecondOrderAgreeWithDifferences) {
  std::mt19937_64 random(seed());
  for (const Case& one : cases()) {
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
