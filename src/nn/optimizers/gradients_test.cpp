#include "vectis/nn/gradients.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/nn/optimizer_values.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/array/random.hpp"
#include "vectis/nn/optimizer.hpp"
#include "vectis/nn/schedule.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

TEST(ClipTest, ScalesAllGradientsByOneFactor) {
  std::vector<Tensor> gradients = {Tensor::from_cpu(std::vector<float>{3, 0}, {2}),
                                   Tensor::from_cpu(std::vector<float>{-4}, {1, 1})};
  EXPECT_EQ(clip_by_norm(gradients, 10).item(), 5);
  EXPECT_THAT(gradients[0].to_cpu<float>(), ElementsAre(3, 0));
  EXPECT_EQ(clip_by_norm(gradients, 1).item(), 5);
  EXPECT_THAT(gradients[0].to_cpu<float>(), ElementsAre(FloatNear(0.6F, 1e-6F), 0));
  EXPECT_THAT(gradients[1].to_cpu<float>(), ElementsAre(FloatNear(-0.8F, 1e-6F)));
  clip_by_value(gradients, 0.7);
  EXPECT_THAT(gradients[1].to_cpu<float>(), ElementsAre(-0.7F));
  std::vector<Tensor> zeros = {array::zeros({3})};
  EXPECT_EQ(clip_by_norm(zeros, 1).item(), 0);
  EXPECT_THAT(zeros[0].to_cpu<float>(), ElementsAre(0, 0, 0));
  EXPECT_EQ(clip_by_norm({}, 1).item(), 0);
  EXPECT_ERROR(clip_by_norm(zeros, 0), ErrorCode::invalid_input, "limit is 0");
  EXPECT_ERROR(clip_by_value(zeros, -1), ErrorCode::invalid_input, "limit is -1");
  // Squares that float32 does not hold.
  std::vector<Tensor> large = {Tensor::from_cpu(std::vector<double>{3e30, 4e30}, {2}), array::ones({1})};
  EXPECT_NEAR(clip_by_norm(large, 1).item() / 5e30, 1, 1e-12);
  EXPECT_NEAR(large[0].to_cpu<double>()[1], 0.8, 1e-12);
  EXPECT_EQ(large[1].dtype(), DType::float32);
  std::vector<Tensor> infinite = {array::full({1}, INFINITY), array::ones({1})};
  EXPECT_FALSE(std::isfinite(clip_by_norm(infinite, 1).item()));
}

TEST(GradientAccumulatorTest, AveragesBatches) {
  array::Generator random(test::seed());
  const Tensor x = random.normal({12, 5});
  const Tensor w = random.normal({5});
  const auto gradient = [&](const Tensor& part) {
    return grad([&](const Tensor& v) { return mean(square(matmul(part, v))); }, w);
  };
  GradientAccumulator accumulator;
  EXPECT_ERROR(static_cast<void>(accumulator.take()), ErrorCode::invalid_input, "no gradients");
  for (const Tensor& part : array::split(x, 3)) accumulator.add(std::vector<Tensor>{gradient(part)});
  EXPECT_EQ(accumulator.count(), 3);
  EXPECT_LT(max(absolute(accumulator.take()[0] - gradient(x))).item(), 1e-5);
  EXPECT_EQ(accumulator.count(), 0);
  accumulator.add(std::vector<Tensor>{x});
  EXPECT_ERROR(accumulator.add(std::vector<Tensor>{w}), ErrorCode::invalid_input, "(5,)", "(12, 5)");
  EXPECT_ERROR(accumulator.add({}), ErrorCode::invalid_input, "0 gradients follow 1");
  EXPECT_EQ(accumulator.count(), 1);
}

struct Line {
  Tensor slope = array::full({1}, 0.5);
  void visit(Visitor& visitor) { visitor.parameter("slope", slope); }
};

TEST(MixedPrecisionTest, KeepsFloat32Parameters) {
  Line line;
  line.slope = array::full({1}, 1.0000001);  // which 16 bits round to 1
  for (const DType type : {DType::float16, DType::bfloat16}) {
    MixedPrecision mixed(type);
    DType seen = DType::float32;
    const auto result = mixed.value_and_grad(line, [&] {
      seen = line.slope.dtype();
      return sum(line.slope * 3);
    });
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(seen, type);
    EXPECT_EQ(line.slope.dtype(), DType::float32);
    EXPECT_NE(line.slope.item<float>(), 1);
    EXPECT_EQ(result->loss.item(), 3);
    EXPECT_EQ(result->gradients[0].dtype(), DType::float32);
    EXPECT_EQ(result->gradients[0].item(), 3);
  }
}

// The gradient 2^-26 is below the smallest number of float16; scaled by 2^16 it is not.
TEST(MixedPrecisionTest, TheScaleKeepsSmallGradients) {
  Line line;
  const auto gradient = [&](double scale) {
    MixedPrecision mixed(DType::float16, {.initial = scale});
    const auto loss = [&] { return sum(line.slope * line.slope).astype(DType::float32) * 0x1p-26; };
    return mixed.value_and_grad(line, loss)->gradients[0].item();
  };
  EXPECT_EQ(gradient(1), 0);
  EXPECT_EQ(gradient(0x1p16), 0x1p-26);
}

TEST(MixedPrecisionTest, TheScaleFallsWithOverflowsAndGrowsAgain) {
  Line line;
  MixedPrecision mixed(DType::float16, {.initial = 0x1p15, .growth_interval = 3});
  // A product of matrices, so that its gradient is stored in float16.
  const auto large = [&] { return sum(matmul(line.slope.reshape({1, 1}), array::full({1, 1}, 4, DType::float16))); };
  EXPECT_FALSE(mixed.value_and_grad(line, large).has_value());  // 4 * 2^15 is infinite in float16
  EXPECT_EQ(mixed.scale(), 0x1p14);
  EXPECT_FALSE(mixed.value_and_grad(line, large).has_value());
  EXPECT_EQ(mixed.scale(), 0x1p13);
  EXPECT_TRUE(mixed.value_and_grad(line, large).has_value());
  EXPECT_TRUE(mixed.value_and_grad(line, large).has_value());
  MixedPrecision resumed(DType::float16, {.initial = 1, .growth_interval = 3});
  resumed.load_state_dict(mixed.state_dict());
  for (MixedPrecision* one : {&mixed, &resumed}) {
    EXPECT_EQ(one->value_and_grad(line, large)->gradients[0].item(), 4);
    EXPECT_EQ(one->scale(), 0x1p14);
  }
  EXPECT_THROW(static_cast<void>(mixed.value_and_grad(line, []() -> Tensor { throw std::bad_alloc(); })),
               std::bad_alloc);
  EXPECT_EQ(line.slope.dtype(), DType::float32);
  EXPECT_ERROR(MixedPrecision{DType::float32}, ErrorCode::invalid_input, "float32");
  EXPECT_ERROR(MixedPrecision(DType::float16, {.backoff = 1}), ErrorCode::invalid_input, "backoff");
}

TEST(ScheduleTest, EqualsPyTorch) {
  namespace torch = test::pytorch;
  const auto compare = [](const Schedule& schedule, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(schedule(static_cast<std::int64_t>(i)), expected[i], 1e-12) << i;
    }
  };
  compare(cosine(8, 0.1), torch::cosine);
  compare(step_decay(3, 0.5), torch::step_decay);
  compare(warm_up(5), torch::warm_up);
  EXPECT_EQ(cosine(8, 0.1)(1000), 0.1);
  EXPECT_EQ(warm_up(2, step_decay(1, 0.5))(3), 0.5);
  EXPECT_EQ(warm_up(0)(0), 1);
  EXPECT_ERROR(static_cast<void>(cosine(0)), ErrorCode::invalid_input, "steps is 0");
  EXPECT_ERROR(static_cast<void>(step_decay(1, 0)), ErrorCode::invalid_input, "factor is 0");
}

TEST(ScheduleTest, PlateausEqualPyTorchAlsoWhenResumed) {
  namespace torch = test::pytorch;
  const PlateauOptions options{.factor = 0.5, .patience = 2, .threshold = 0.01, .cooldown = 1, .factor_min = 0.1};
  PlateauSchedule schedule(options);
  for (std::size_t i = 0; i < torch::losses.size(); ++i) {
    PlateauSchedule resumed(options);
    resumed.load_state_dict(schedule.state_dict());
    EXPECT_EQ(schedule.observe(torch::losses[i]), torch::plateau[i]) << i;
    EXPECT_EQ(resumed.observe(torch::losses[i]), torch::plateau[i]) << i;
    EXPECT_EQ(schedule.factor(), torch::plateau[i]);
  }
  EXPECT_ERROR(PlateauSchedule({.factor = 1}), ErrorCode::invalid_input, "factor of a plateau is 1");
}

}  // namespace
}  // namespace vectis::nn
