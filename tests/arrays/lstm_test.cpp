// LSTM of float32 on the CPU, which has kernels of its own, against that of float64, which is made of other operations,
// and that against finite differences.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;

struct LstmSize {
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t hidden;
};
constexpr LstmSize lstm_sizes[] = {{1, 1, 1}, {3, 2, 5}, {2, 1, 16}, {4, 3, 17}, {2, 40, 33}};

// inputs, weights, first hidden state, first cell
std::vector<Tensor> random_arguments(const LstmSize& size, DType type) {
  Generator random(seed());
  const auto normal = [&](const Shape& shape, double deviation) {
    return random.normal(shape, 0, deviation).astype(type).eval();
  };
  // Larger weights would amplify rounding from step to step.
  const double of_weights = 1 / std::sqrt(static_cast<double>(size.hidden));
  return {normal({size.steps, size.batch, 4 * size.hidden}, 0.7), normal({4 * size.hidden, size.hidden}, of_weights),
          normal({size.batch, size.hidden}, 0.7), normal({size.batch, size.hidden}, 0.7)};
}

Tensor loss_of(std::span<const Tensor> x) {
  const LstmStates states = lstm(x[0], x[1], x[2], x[3]);
  return sum(square(states.hidden)) + sum(states.cells * 0.3) + sum(square(select(states.cells, 0, -1)));
}

// A function of the gradients, whose gradient is a second derivative.
Tensor slope_of(std::span<const Tensor> x) {
  Tensor total;
  for (const Tensor& gradient : value_and_grad(loss_of, x).gradients) {
    const Tensor one = sum(square(gradient));
    total = total.is_empty() ? one : total + one;
  }
  return total;
}

void expect_same(const Tensor& found, const Tensor& expected, const char* what) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_EQ(found.dtype(), DType::float32);
  const Tensor wide = found.astype(DType::float64);
  const double scale = 1 + max(absolute(expected)).item();
  EXPECT_LT(max(absolute(wide - expected)).item() / scale, 2e-5) << what;
}

TEST(Lstm, OfFloat32IsThatOfFloat64WithItsGradients) {
  for (const LstmSize& size : lstm_sizes) {
    SCOPED_TRACE(size.hidden);
    const std::vector<Tensor> narrow = random_arguments(size, DType::float32);
    const std::vector<Tensor> wide = random_arguments(size, DType::float64);
    const LstmStates found = lstm(narrow[0], narrow[1], narrow[2], narrow[3]);
    const LstmStates expected = lstm(wide[0], wide[1], wide[2], wide[3]);
    expect_same(found.hidden, expected.hidden, "hidden");
    expect_same(found.cells, expected.cells, "cells");
    for (const auto& function : {Function(loss_of), Function(slope_of)}) {
      const ValueAndGradients a = value_and_grad(function, narrow);
      const ValueAndGradients b = value_and_grad(function, wide);
      for (std::size_t i = 0; i < 4; ++i) expect_same(a.gradients[i], b.gradients[i], "gradient");
    }
  }
}

// 16 bits: rounded are the inputs, the factors of the products, and the results.
TEST(Lstm, Of16BitsIsThatOfFloat32WithinTheirRounding) {
  for (const auto& [type, unit] : {std::pair{DType::bfloat16, 1.0 / 256}, std::pair{DType::float16, 1.0 / 2048}}) {
    for (const LstmSize& size : {LstmSize{3, 2, 5}, LstmSize{4, 3, 17}, LstmSize{6, 40, 64}}) {
      SCOPED_TRACE(size.hidden);
      std::vector<Tensor> narrow = random_arguments(size, type);
      std::vector<Tensor> wide;
      for (const Tensor& x : narrow) wide.push_back(x.astype(DType::float32).eval());
      const ValueAndGradients found = value_and_grad(loss_of, narrow);
      const ValueAndGradients expected = value_and_grad(loss_of, wide);
      const LstmStates states = lstm(narrow[0], narrow[1], narrow[2], narrow[3]);
      EXPECT_EQ(states.hidden.dtype(), type);
      EXPECT_EQ(states.cells.dtype(), type);
      const LstmStates in_full = lstm(wide[0], wide[1], wide[2], wide[3]);
      EXPECT_LT(max(absolute(states.hidden.astype(DType::float32) - in_full.hidden)).item(), 8 * unit);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(found.gradients[i].dtype(), type);
        const Tensor error = absolute(found.gradients[i].astype(DType::float32) - expected.gradients[i]);
        EXPECT_LT(max(error).item(), 16 * unit * max(absolute(expected.gradients[i])).item()) << "gradient " << i;
      }
    }
  }
}

TEST(Lstm, GradientsAreThoseOfFiniteDifferences) {
  const std::vector<Tensor> wide = random_arguments({3, 2, 3}, DType::float64);
  EXPECT_LT(check_gradient(loss_of, wide).error_max, 1e-6);
}

TEST(Lstm, LargeNumbersSaturateAndNaNStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor inputs = Tensor::from_cpu(std::vector<float>{1e30F, -1e30F, 1e30F, 1e30F, nan, 0, 0, 0}, {2, 1, 4});
  const LstmStates states = lstm(inputs, zeros({4, 1}), zeros({1, 1}), ones({1, 1}));
  EXPECT_NEAR(states.cells.to_cpu<float>()[0], 1, 1e-6);
  EXPECT_NEAR(states.hidden.to_cpu<float>()[0], std::tanh(1.0), 1e-6);
  EXPECT_TRUE(std::isnan(states.hidden.to_cpu<float>()[1]));
}

TEST(Lstm, ConvertsToTheTypeThatHoldsAllAndTakesEmptyBatches) {
  Generator random(test::seed());
  const Tensor inputs = random.normal({4, 3, 8});
  const Tensor weights = random.normal({8, 2});
  const LstmStates narrow = lstm(inputs, weights, zeros({3, 2}), zeros({3, 2}));
  const LstmStates wide = lstm(inputs, weights.astype(DType::float64), zeros({3, 2}), zeros({3, 2}));
  EXPECT_EQ(wide.cells.dtype(), DType::float64);
  EXPECT_LT(max(absolute(wide.hidden - narrow.hidden)).item(), 1e-5);
  const LstmStates empty = lstm(zeros({4, 0, 8}), weights, zeros({0, 2}), zeros({0, 2}));
  EXPECT_EQ(empty.hidden.shape(), (Shape{4, 0, 2}));
  EXPECT_EQ(empty.cells.shape(), (Shape{4, 0, 2}));
}

TEST(Lstm, ErrorsNameShapes) {
  const Tensor inputs = zeros({2, 3, 8});
  EXPECT_ERROR(lstm(inputs, zeros({8, 3}), zeros({3, 2}), zeros({3, 2})), ErrorCode::invalid_input, "[lstm]",
               "weights have shape (8, 3), expected (8, 2)");
  EXPECT_ERROR(lstm(inputs, zeros({8, 2}), zeros({2, 3}), zeros({3, 2})), ErrorCode::invalid_input, "hidden states");
  EXPECT_ERROR(lstm(zeros({2, 3}), inputs, inputs, inputs), ErrorCode::invalid_input, "(sequence, batch, 4 * hidden)");
  EXPECT_ERROR(lstm(inputs, zeros({8, 3}, DType::float64), inputs, inputs), ErrorCode::invalid_input, "(8, 3)");
  EXPECT_ERROR(lstm(zeros({0, 3, 8}), zeros({8, 2}), zeros({3, 2}), zeros({3, 2})), ErrorCode::invalid_input,
               "no elements");
}

}  // namespace

}  // namespace vectis::test
