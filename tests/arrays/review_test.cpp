// What a hostile review found: overflowing shapes, captured graphs, several Runtimes, gradients of integers, 16 bits.

#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/arrays/dense.hpp"
#include "tests/support/expect_error.hpp"
#include "vectis/array.hpp"
#include "vectis/memory.hpp"

namespace vectis::test {

namespace {

using namespace vectis::array;
using Arguments = std::span<const Tensor>;
constexpr ErrorCode invalid = ErrorCode::invalid_input;
constexpr std::int64_t large = std::int64_t{1} << 40;
constexpr std::int64_t int_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int_min = std::numeric_limits<std::int64_t>::min();

Tensor of(const std::vector<float>& values) {
  return Tensor::from_cpu(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace

TEST(ArrayReview, ShapesThatOverflowAreRejected) {
  EXPECT_ERROR(zeros({large, 1}) + zeros({1, large}), invalid, "[add]", "2^56");
  EXPECT_ERROR(where(zeros({large, 1}, DType::boolean), zeros({1, large}), 0), invalid, "[where]", "2^56");
  EXPECT_ERROR(pad(zeros({3}), std::vector<std::pair<std::int64_t, std::int64_t>>{{int_max, int_max}}), invalid,
               "[pad]", "2^56");
  EXPECT_ERROR(conv(ones({1, 1, 5}), ones({1, 1, 3}), {.dilations = {int_max}}), invalid, "[conv]");
  EXPECT_ERROR(conv(ones({1, 1, 5}), ones({1, 1, 3}), {.dilations = {std::int64_t{1} << 62}}), invalid, "[conv]");
  const std::vector<Tensor> many(256, zeros({std::int64_t{1} << 56}, DType::boolean));
  EXPECT_ERROR(concat(many), invalid, "[concat]", "2^56");
  expect_equal(roll(of({1, 2, 3}), int_min, 0), {{3}, {3, 1, 2}}, "roll");
  EXPECT_ERROR(Generator().integers({2}, int_min, int_max), invalid, "[integers]");
  EXPECT_ERROR(zeros({2}, DType::complex64), invalid, "complex64");
}

TEST(ArrayReview, EmptyTensorsAndNumbersThrow) {
  EXPECT_ERROR(stop_gradient(5.0), invalid, "[stop_gradient]");
  EXPECT_ERROR(full_like(Tensor(), 1), invalid, "empty");
  const Tensor nothing;
  EXPECT_ERROR(custom_function([](Arguments) { return ones({1}); }, {}, {&nothing, 1}), invalid, "[custom_function]");
}

// Functions that capture arrays form chains as inputs do.
TEST(ArrayReview, LongChainsOfCapturesAreDestroyed) {
  const auto pass = [](const Tensor&, Arguments, const Tensor& adjoint) { return std::vector{adjoint}; };
  Tensor x = ones({1});
  for (int i = 0; i < 50000; ++i) {
    const Tensor before = x;
    x = custom_function([before](Arguments a) { return a[0] + before * 0; }, pass, {&before, 1});
    if (i % 100 == 0) x.eval();
  }
  EXPECT_EQ(x.item(), 1);
  x = Tensor();
}

TEST(ArrayReview, RuntimesAreKeptApart) {
  Runtime one(with_threads(1));
  Runtime two(with_threads(1));
  const std::vector<Tensor> both = {zeros({2}, DType::float32, {.runtime = &one}) + 1,
                                    zeros({2}, DType::float32, {.runtime = &two}) + 2};
  array::eval(both);
  EXPECT_TRUE(both[0].is_computed() && both[1].is_computed());
  const Tensor x = Tensor::from_cpu(std::vector<double>{1, 2, 3}, {3}, {.runtime = &one});
  const Tensor at = Tensor::from_cpu(std::vector<std::int32_t>{1}, {1}, {.runtime = &one});
  const auto put = [&](Arguments a) { return sum(put_along_axis(a[0], at, square(slice(a[0], 0, {.stop = 1})), 0)); };
  EXPECT_LT(check_gradient(put, {&x, 1}).error_max, 1e-6);
}

TEST(ArrayReview, GradientsStopAtIntegers) {
  const Tensor x = of({1.5F, 2.5F});
  expect_equal(grad([](const Tensor& v) { return sum(v.astype(DType::int32).astype(DType::float32)); }, x),
               {{2}, {0, 0}}, "truncated");
  expect_equal(grad([](const Tensor& v) { return sum(v) / count_nonzero(v); }, x), {{2}, {0.5, 0.5}}, "mean of some");
  const auto twice = [](const Tensor& v) {
    const Tensor truth = v.astype(DType::boolean);
    return sum(where(truth, v, 0)) + sum(truth.astype(DType::float32));
  };
  expect_equal(grad(twice, x), {{2}, {1, 1}}, "truth");
}

TEST(ArrayReview, GradientsOfExtremaDoNotCompareRoundedValues) {
  const Tensor x = of({1, 2, 3}).astype(DType::float16);
  const auto clipped = [](const Tensor& v) {
    const Tensor y = clip(v * 1.1, -10, 10);
    (void)sum(y).item();  // stores y, rounded
    return sum(y);
  };
  expect_near(grad(clipped, x), {{3}, {1.1, 1.1, 1.1}}, 1e-3, "clip");
}

TEST(ArrayReview, PausedGradientsStayPaused) {
  const Tensor three = full({}, 3.0);
  const Tensor constant = full({}, 2.0);
  const auto nested = [&](const Tensor& x) {
    Tensor inner;
    {
      const NoGradient pause;
      inner = grad([&](const Tensor& y) { return sum(y * x * x); }, constant);
    }
    return sum(inner * x);
  };
  EXPECT_EQ(grad(nested, three).item(), 9);
  EXPECT_TRUE(NoGradient::is_recording());
}

TEST(ArrayReview, ThreadsInsideAFunctionTakeGradients) {
  const Tensor x = full({}, 3.0);
  const auto across = [](const Tensor& v) {
    Tensor inner;
    std::jthread([&] { inner = grad([&](const Tensor& y) { return sum(y * v * v); }, full({}, 1.0)); }).join();
    return inner;  // v^2
  };
  EXPECT_EQ(grad(across, x).item(), 6);
}

// The gradient of one thread ends while that of another, which uses its arrays, goes on.
TEST(ArrayReview, GradientsOfThreadsEndInAnyOrder) {
  const Tensor w = of({2, 3});
  const Tensor x = of({5, 7});
  std::promise<Tensor> square_of_w;
  std::promise<void> is_recorded;
  std::promise<void> is_closed;
  std::jthread other([&] {
    const Tensor captured = square_of_w.get_future().get();
    const Tensor found = grad(
        [&](const Tensor& v) {
          const Tensor value = sum(square(v) * captured);
          is_recorded.set_value();
          is_closed.get_future().wait();
          return value + sum(captured * v);
        },
        x + captured * 0);
    expect_equal(found, {{2}, {44, 135}}, "of the second thread");
  });
  const auto first = [&](const Tensor& v) {
    const Tensor squared = square(v);
    square_of_w.set_value(squared);
    is_recorded.get_future().wait();
    return sum(squared);
  };
  expect_equal(grad(first, w), {{2}, {4, 6}}, "of the first thread");
  is_closed.set_value();
}

TEST(ArrayReview, OthersMayEvaluateTheValueMeanwhile) {
  for (int round = 0; round < 200; ++round) {
    Tensor published;
    std::jthread other;
    const auto loss = [&](const Tensor& v) {
      published = sum(exp(v) * v);
      other = std::jthread([&published] { (void)published.item(); });
      return published;
    };
    EXPECT_NEAR(grad(loss, ones({3})).to_cpu<float>()[0], 2 * std::exp(1.0), 1e-5);
  }
}

// A value that is computed inside a function and carried on keeps nothing of it alive.
TEST(ArrayReview, NothingIsKeptAfterAGradient) {
  Runtime runtime(with_threads(1));
  const TensorOptions here{.runtime = &runtime};
  Tensor state = zeros({1 << 18}, DType::float32, here) + 0;
  MemoryScope scope(memory_pool(runtime), 0, "array");
  for (int i = 0; i < 20; ++i) {
    const Tensor weight = ones({}, DType::float32, here);
    const ValueAndGradients result = value_and_grad(
        [&](Arguments w) {
          state = state * w[0] + 1;
          state.eval();
          return sum(w[0]);
        },
        {&weight, 1});
  }
  EXPECT_EQ(state.to_cpu<float>()[5], 20);
  EXPECT_LE(scope.live_bytes(), std::uint64_t{1} << 21);
  EXPECT_THROW((void)grad([](const Tensor&) -> Tensor { throw std::runtime_error("no"); }, ones({})),
               std::runtime_error);
}

TEST(ArrayReview, SecondDerivativesAtTies) {
  const Tensor zero = full({}, 0.0, DType::float64);
  const auto second = [](auto f) { return [f](const Tensor& x) { return grad(f, x); }; };
  EXPECT_NEAR(grad(second([](const Tensor& x) { return softplus(x); }), zero).item(), 0.25, 1e-12);
  EXPECT_EQ(grad(second(second([](const Tensor& x) { return power(x, 1); })), zero).item(), 0);
  EXPECT_EQ(grad([](const Tensor& x) { return elu(x); }, zero).item(), 1);
  expect_equal(grad([](const Tensor& x) { return norm(x); }, zeros({2})), {{2}, {0, 0}}, "norm at 0");
  const Tensor tiny = full({}, 1e-30);
  EXPECT_NEAR(grad([&](const Tensor& x) { return atan2(x, tiny); }, tiny).item() / 5e29, 1, 1e-5);
}

TEST(ArrayReview, GradientsHaveTheTypeOfTheirArgument) {
  const Tensor x = ones({2});
  const auto wide = [](const Tensor&, Arguments, const Tensor& g) { return std::vector{g.astype(DType::float64)}; };
  const auto function = [&](const Tensor& v) {
    return sum(custom_function([](Arguments a) { return a[0] * 2; }, wide, {&v, 1}));
  };
  EXPECT_EQ(grad(function, x).dtype(), DType::float32);
  const Tensor rows = Tensor::from_cpu(std::vector<std::int32_t>{1, 1}, {2});
  const auto checkpointed = [&](const Tensor& v) {
    return sum(checkpoint([](Arguments a) { return take(square(a[0]), a[1]); }, std::vector{v, rows}));
  };
  expect_equal(grad(checkpointed, x), {{2}, {0, 4}}, "checkpoint with indices");
}

TEST(ArrayReview, SixteenBitsDoNotOverflowInBetween) {
  const auto half = [](const Shape& shape, double value) { return full(shape, value, DType::float16); };
  EXPECT_EQ(mean(half({70000}, 1)).item(), 1);
  EXPECT_EQ(mean(half({4000}, 20)).item(), 20);
  EXPECT_EQ(norm(half({4}, 300)).item(), 600);
  EXPECT_EQ(index_add(half({1}, 0), zeros({5000}, DType::int32), half({5000}, 1)).item(), 5000);
  const Tensor ties = grad([](const Tensor& x) { return max(x) * 1000; }, half({70000}, 1));
  EXPECT_NEAR(ties.astype(DType::float32).to_cpu<float>()[7], 1000.0 / 70000, 1e-4);
}

TEST(ArrayReview, NumbersBeyondATypeArePromoted) {
  const Tensor bytes = Tensor::from_cpu(std::vector<std::uint8_t>{3, 50, 200}, {3});
  EXPECT_EQ(less(bytes, 300).to_cpu<bool>(), (std::vector<bool>{true, true, true}));
  expect_equal(clip(bytes, -1, 300), {{3}, {3, 50, 200}}, "clip");
  EXPECT_FALSE(equal(zeros({1}, DType::int32), std::int64_t{1} << 32).item<bool>());
  expect_equal(eye(2, 2, std::int64_t{1} << 32), {{2, 2}, {0, 0, 0, 0}}, "eye");
  expect_equal(tril(ones({2, 2}), int_min), {{2, 2}, {0, 0, 0, 0}}, "tril");
  EXPECT_EQ((bytes + 1).dtype(), DType::uint8);
  EXPECT_ERROR(left_shift(zeros({2}, DType::boolean), 1 == 1), invalid, "[left_shift]", "bool");
}

TEST(ArrayReview, SpecialValues) {
  const Tensor large_negative = of({-1e10F, -1e30F, -8388607.5F});
  for (const float value : acosh(large_negative).to_cpu<float>()) EXPECT_TRUE(std::isnan(value));
  const float inf = std::numeric_limits<float>::infinity();
  for (const DType type : {DType::float32, DType::float64}) {
    EXPECT_EQ(floor_divide(of({-5}).astype(type), inf).item(), -1);
    EXPECT_EQ(floor_divide(of({5}).astype(type), inf).item(), 0);
  }
  const Tensor three = full({1}, 3, DType::uint8);
  EXPECT_NEAR(logaddexp(three, three + 2).item(), std::log(std::exp(3) + std::exp(5)), 1e-5);
  EXPECT_NEAR(hypot(full({1}, -128, DType::int8), full({1}, -128, DType::int8)).item(), 181.0193, 1e-3);
  EXPECT_FALSE(max_pool(zeros({1, 1, 2}, DType::boolean), {2}, {.padding = {1}})[0][0][0].item<bool>());
  EXPECT_EQ(einsum("i,j->ij", std::vector{three, three}).dtype(), einsum("i,i->", std::vector{three, three}).dtype());
  EXPECT_NEAR(cosh(of({85})).item() / std::cosh(85.0), 1, 5e-7);
  EXPECT_EQ(full({}, std::nan("")).item<int>(), 0);
  EXPECT_EQ(full({}, 1e30).item<std::int64_t>(), int_max);
}

TEST(ArrayReview, RandomNumbersStayBelowTheEndAndDiffer) {
  Generator random(3);
  EXPECT_LT(max(random.uniform({100000}, 1000, 1001)).item(), 1001);
  EXPECT_LT(max(random.uniform({100000}, 0, 1, DType::float16)).item(), 1);
  std::set<std::vector<std::int32_t>> drawn;
  for (int draw = 0; draw < 200000; ++draw) drawn.insert(random.bits({4}).to_cpu<std::int32_t>());
  EXPECT_EQ(drawn.size(), 200000U);
}

TEST(ArrayReview, CountsBeyondTheirTypeAreRejected) {
  EXPECT_ERROR(count_nonzero(zeros({large}, DType::boolean)), invalid, "[count_nonzero]", "1099511627776");
  EXPECT_EQ(count_nonzero(zeros({large, 0}), {1}).elements(), large);
}

TEST(ArrayReview, ObserversDoNotWaitForTheirOwnEvaluation) {
  struct Asking final : EvaluationObserver {
    void* begin() noexcept override { return nullptr; }
    void end(void*) noexcept override {}
    void step(void*) override {
      if (!wanted.is_empty()) (void)std::exchange(wanted, Tensor()).item();
    }
    Tensor wanted;
  } observer;
  Runtime runtime(with_threads(1));
  const TensorOptions here{.runtime = &runtime};
  set_evaluation_observer(runtime, &observer);
  const Tensor x = full({2, 2}, 3, DType::float32, here);
  const Tensor y = sum(matmul(x, x));
  observer.wanted = y;
  EXPECT_ERROR(y.eval(), invalid, "[eval]", "after the evaluation");
  EXPECT_EQ(y.item(), 72);
  observer.wanted = sum(x);  // not of this evaluation
  EXPECT_EQ(sum(matmul(x, x) + 1).item(), 76);
  set_evaluation_observer(runtime, nullptr);
}

TEST(ArrayReview, RangesOfRandomNumbersAreChecked) {
  Generator random(3);
  for (const auto& [low, high] :
       {std::pair{1.0, 0.0}, {-3e38, 3e38}, {std::nan(""), 1.0}, {0.0, std::numeric_limits<double>::infinity()}}) {
    EXPECT_ERROR(random.uniform({2}, low, high), invalid, "[uniform]");
  }
  EXPECT_EQ(random.uniform({}, 5, 5).item(), 5);
  EXPECT_NEAR(mean(random.uniform({10000}, -1.6e38, 1.6e38) / 1.6e38).item(), 0, 0.03);
  EXPECT_NEAR(mean(random.uniform({10000}, -3e38, 3e38, DType::float64) / 3e38).item(), 0, 0.03);
}

TEST(ArrayReview, HugeInterpolationsAreRejected) {
  const Tensor line = ones({1, 1, 4});
  EXPECT_ERROR(interpolate(line, {int_max}), invalid, "[interpolate]", "2^56");
  EXPECT_ERROR(interpolate(line, {std::int64_t{1} << 50}), invalid, "[interpolate]", "2^31 - 1");
}

TEST(ArrayReview, InterpolationIsExact) {
  const Tensor wide = Tensor::from_cpu(std::vector<double>{0, 1e9}, {1, 1, 2});
  EXPECT_NEAR(interpolate(wide, {7}).to_cpu<double>()[2], 214285714.2857, 1e-3);
  for (std::int64_t from = 1; from < 40; ++from) {
    const Tensor line = arange(0, static_cast<double>(from)).reshape({1, 1, from});
    for (std::int64_t to = 1; to < 60; ++to) {
      const std::vector<std::int32_t> taken = interpolate(line, {to}, Interpolation::nearest).to_cpu<std::int32_t>();
      for (std::int64_t i = 0; i < to; ++i) ASSERT_EQ(taken[static_cast<std::size_t>(i)], i * from / to);
    }
  }
}

// A gradient inside a loop does not visit what was recorded before it.
TEST(ArrayReview, NestedGradientsTakeTimeInProportion) {
  const auto loop = [](const Tensor& x) {
    Tensor state = x;
    for (int i = 0; i < 1500; ++i) state = state - grad([](const Tensor& y) { return sum(square(y)); }, state) * 0.001;
    return sum(state);
  };
  EXPECT_NEAR(grad(loop, ones({1}, DType::float64)).item(), std::pow(0.998, 1500), 1e-9);
}

}  // namespace vectis::test
