#include "vectis/nn/optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/nn/optimizer_values.hpp"
#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/array/random.hpp"

namespace vectis::nn {
namespace {

using testing::ElementsAre;

// The problem of tests/nn/optimizer_values.py.
struct Problem {
  Tensor weights = Tensor::from_cpu(std::vector<double>{1, -2, 0.5, 0.25, 3, -0.75}, {2, 3});
  Tensor bias = Tensor::from_cpu(std::vector<double>{0.1, -1.5}, {2});

  void visit(Visitor& visitor) {
    visitor.parameter("weights", weights);
    visitor.parameter("bias", bias);
  }
  [[nodiscard]] Tensor loss() const {
    const Tensor scale = Tensor::from_cpu(std::vector<double>{1, 0.5, 2, 4, 0.125, 1.5}, {2, 3});
    return sum(weights * weights * scale.astype(weights.dtype())) + sum(sin(bias));
  }
  void step(Optimizer& optimizer) {
    optimizer.update(*this, value_and_grad(*this, [&] { return loss(); }).gradients);
  }
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> all = weights.astype(DType::float64).to_cpu<double>();
    const std::vector<double> rest = bias.astype(DType::float64).to_cpu<double>();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
};

struct Case {
  const char* name;
  std::unique_ptr<Optimizer> (*make)();
  const std::vector<double>* expected;
};

template <class O, class Options>
std::unique_ptr<Optimizer> make(Options options) {
  return std::make_unique<O>(options);
}

const std::vector<Case>& cases() {
  namespace torch = test::pytorch;
  static const std::vector<Case> all = {
      {"sgd", [] { return make<Sgd>(SgdOptions{.learning_rate = 0.1}); }, &torch::sgd},
      {"sgd_momentum",
       [] {
         return make<Sgd>(SgdOptions{.learning_rate = 0.1, .momentum = 0.9, .dampening = 0.25, .weight_decay = 0.02});
       },
       &torch::sgd_momentum},
      {"sgd_nesterov", [] { return make<Sgd>(SgdOptions{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}); },
       &torch::sgd_nesterov},
      {"adam", [] { return make<Adam>(AdamOptions{.learning_rate = 0.05, .weight_decay = 0.03}); }, &torch::adam},
      {"adamw",
       [] {
         return make<AdamW>(
             AdamOptions{.learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-6, .weight_decay = 0.1});
       },
       &torch::adamw},
      {"rmsprop", [] { return make<RmsProp>(RmsPropOptions{.learning_rate = 0.02, .weight_decay = 0.01}); },
       &torch::rmsprop},
      {"rmsprop_centered",
       [] {
         return make<RmsProp>(RmsPropOptions{.learning_rate = 0.02, .alpha = 0.9, .momentum = 0.5, .centered = true});
       },
       &torch::rmsprop_centered},
  };
  return all;
}

class OptimizerTest : public testing::TestWithParam<Case> {};

TEST_P(OptimizerTest, EqualsPyTorch) {
  Problem problem;
  const auto optimizer = GetParam().make();
  std::vector<double> seen;
  while (seen.size() < GetParam().expected->size()) {
    problem.step(*optimizer);
    const std::vector<double> values = problem.values();
    seen.insert(seen.end(), values.begin(), values.end());
  }
  ASSERT_EQ(seen.size(), GetParam().expected->size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], (*GetParam().expected)[i], 1e-12) << i;
}

TEST_P(OptimizerTest, ContinuesBitForBitFromItsState) {
  for (const DType type : {DType::float64, DType::float32, DType::bfloat16}) {
    Problem problem;
    convert_to(problem, type);
    const auto optimizer = GetParam().make();
    for (int i = 0; i < 3; ++i) problem.step(*optimizer);
    optimizer->set_learning_rate(0.03);
    Problem copy = problem;
    const auto resumed = GetParam().make();
    resumed->load_state_dict(optimizer->state_dict());
    EXPECT_EQ(resumed->learning_rate(), 0.03);
    for (int i = 0; i < 3; ++i) {
      problem.step(*optimizer);
      copy.step(*resumed);
    }
    EXPECT_EQ(problem.values(), copy.values());
    EXPECT_EQ(problem.weights.dtype(), type);
  }
}

TEST_P(OptimizerTest, OthersStatesAreErrors) {
  Problem problem;
  const auto optimizer = GetParam().make();
  problem.step(*optimizer);
  const StateDict state = optimizer->state_dict();
  for (const Case& other : cases()) {
    const auto made = other.make();
    const bool keeps_same = [&] {
      Problem fresh;
      fresh.step(*made);
      const StateDict theirs = made->state_dict();
      return std::ranges::equal(theirs, state, {}, &StateDict::Entry::first, &StateDict::Entry::first);
    }();
    const auto target = other.make();
    if (keeps_same) {
      target->load_state_dict(state);
    } else {
      EXPECT_ERROR(target->load_state_dict(state), ErrorCode::invalid_input);
      EXPECT_EQ(target->state_dict().size(), 1U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest, testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(OptimizerUpdateTest, RejectsWhatDoesNotFit) {
  Problem problem;
  Adam adam;
  const std::vector<double> before = problem.values();
  const std::vector<Tensor> gradients = value_and_grad(problem, [&] { return problem.loss(); }).gradients;
  EXPECT_ERROR(adam.update(problem, std::span(gradients).first(1)), ErrorCode::invalid_input, "[adam]",
               "1 gradients were given for 2");
  const std::vector<Tensor> swapped = {gradients[1], gradients[0]};
  EXPECT_ERROR(adam.update(problem, swapped), ErrorCode::invalid_input, "weights", "(2,)", "(2, 3)");
  EXPECT_EQ(problem.values(), before);
  problem.step(adam);
  Problem larger;
  larger.weights = array::zeros({4, 3}, DType::float64);
  EXPECT_ERROR(adam.update(larger, std::vector<Tensor>{larger.weights, larger.bias}), ErrorCode::invalid_input,
               "the state of 'weights'", "(2, 3)");
}

TEST(OptimizerUpdateTest, RejectsWrongOptions) {
  EXPECT_ERROR(Sgd({.learning_rate = -1}), ErrorCode::invalid_input, "learning rate is -1");
  EXPECT_ERROR(Sgd({.momentum = std::numeric_limits<double>::quiet_NaN()}), ErrorCode::invalid_input, "momentum");
  EXPECT_ERROR(Sgd({.nesterov = true}), ErrorCode::invalid_input, "nesterov");
  EXPECT_ERROR(Adam({.beta1 = 1}), ErrorCode::invalid_input, "beta1 is 1");
  EXPECT_ERROR(RmsProp({.alpha = -0.1}), ErrorCode::invalid_input, "alpha");
  Sgd sgd;
  EXPECT_ERROR(sgd.set_learning_rate(INFINITY), ErrorCode::invalid_input, "inf");
}

// More parameters than one part of an update has, and parameters without elements.
TEST(OptimizerUpdateTest, UpdatesAllParts) {
  array::Generator random(test::seed());
  struct Many {
    std::vector<Tensor> values;
    void visit(Visitor& visitor) {
      for (std::size_t i = 0; i < values.size(); ++i) visitor.parameter(std::to_string(i), values[i]);
    }
  } many;
  for (int i = 0; i < 5; ++i) many.values.push_back(random.normal({3 << 20}));
  many.values.push_back(array::zeros({0, 3}));
  many.values.push_back(array::zeros({}));
  const std::vector<Tensor> before = many.values;
  std::vector<Tensor> gradients;
  for (const Tensor& value : before) gradients.push_back(array::ones(value.shape()));
  Sgd({.learning_rate = 0.5}).update(many, gradients);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(many.values[i].is_computed());
    EXPECT_TRUE(all(equal(many.values[i], before[i] - 0.5)).item<bool>());
  }
}

// In 16 bits the averages would lose small numbers.
TEST(OptimizerUpdateTest, KeepsAStateInFloat32For16Bits) {
  struct One {
    Tensor value = array::zeros({4}, DType::float16);
    void visit(Visitor& visitor) { visitor.parameter("value", value); }
  } one;
  Adam adam({.learning_rate = 0.1});
  adam.update(one, std::vector<Tensor>{array::full({4}, 1e-4, DType::float16)});
  EXPECT_EQ(one.value.dtype(), DType::float16);
  EXPECT_EQ(adam.state_dict().at("value.exp_avg_sq").dtype(), DType::float32);
  EXPECT_NEAR(one.value.astype(DType::float32).to_cpu<float>()[0], -0.1, 1e-3);
}

}  // namespace
}  // namespace vectis::nn
