#include "vectis/nn/module.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "vectis/array.hpp"
#include "vectis/nn/layer.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis {
namespace {

using nn::Mode;
using nn::Tensor;
using nn::Visitor;

Tensor vector_of(std::vector<float> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::from_cpu(values, {count});
}

// x * weight + bias, element by element.
struct Scale {
  static constexpr std::string_view kind = "Scale";
  Tensor weight = vector_of({2, 3});
  Tensor bias = vector_of({1, -1});
  Tensor calls = vector_of({0});

  void visit(Visitor& visitor) {
    visitor.parameter("weight", weight);
    visitor.parameter("bias", bias);
    visitor.buffer("calls", calls);
  }
  Tensor forward(const Tensor& x, const Mode& mode) {
    if (x.extent(-1) != 2) throw Error(ErrorCode::invalid_input, "scale", "expected 2 features");
    if (mode.is_training()) calls = calls + 1;
    const Tensor scaled = x * weight;
    return bias.is_empty() ? scaled : scaled + bias;
  }
};

struct Pair {
  Scale first;
  std::vector<Scale> rest{Scale{}, Scale{}};

  void visit(Visitor& visitor) {
    visitor.child("first", first);
    visitor.children("rest", rest);
  }
  Tensor forward(const Tensor& x, const Mode& mode = {}) {
    Tensor value = nn::in_layer("first", [&] { return first.forward(x, mode); });
    for (Scale& scale : rest) value = scale.forward(value, mode);
    return value;
  }
};

std::vector<std::string> names_of(nn::ModuleRef module) {
  std::vector<std::string> names;
  for (const nn::NamedTensor& tensor : nn::named_tensors(module)) names.push_back(tensor.name);
  return names;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Module, NamesTensorsByTheirPath) {
  Pair pair;
  pair.rest[1].bias = Tensor();
  EXPECT_EQ(names_of(pair), (std::vector<std::string>{"first.weight", "first.bias", "first.calls", "rest.0.weight",
                                                      "rest.0.bias", "rest.0.calls", "rest.1.weight", "rest.1.calls"}));
  EXPECT_EQ(nn::parameters(pair).size(), 5U);
  EXPECT_EQ(nn::buffers(pair).size(), 3U);
  EXPECT_EQ(nn::parameter_count(pair), 10);
}

TEST(Module, AssignedMembersAreSeenAndCopiesAreIndependent) {
  Pair pair;
  Pair copy = pair;
  copy.first.weight = vector_of({5, 7});
  EXPECT_EQ(nn::parameters(copy)[0]->to_cpu<float>(), (std::vector<float>{5, 7}));
  EXPECT_EQ(nn::parameters(pair)[0]->to_cpu<float>(), (std::vector<float>{2, 3}));
}

TEST(Module, OneNameForTwoTensorsIsAnError) {
  struct Twice {
    Scale scale;
    void visit(Visitor& visitor) {
      visitor.child("scale", scale);
      visitor.child("scale", scale);
    }
  } twice;
  EXPECT_EQ(message_of([&] { (void)nn::named_tensors(twice); }),
            "[visit] two tensors are named scale.weight; visit each member once, under its own name");
}

TEST(Module, GradientsComeInTheOrderOfParameters) {
  Pair pair;
  pair.rest.clear();
  const Tensor x = vector_of({10, 20});
  const auto [loss, gradients] = nn::value_and_grad(pair, [&] { return sum(pair.forward(x)); });
  EXPECT_EQ(loss.item(), 10 * 2 + 1 + 20 * 3 - 1);
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0].to_cpu<float>(), (std::vector<float>{10, 20}));
  EXPECT_EQ(gradients[1].to_cpu<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(pair.first.weight.to_cpu<float>(), (std::vector<float>{2, 3}));
}

TEST(Module, GradientsOfSomeParameters) {
  Pair pair;
  pair.rest.clear();
  Tensor* const only[] = {&pair.first.bias};
  const auto [loss, gradients] = nn::value_and_grad(only, [&] { return sum(pair.forward(vector_of({1, 1}))); });
  ASSERT_EQ(gradients.size(), 1U);
  EXPECT_EQ(gradients[0].to_cpu<float>(), (std::vector<float>{1, 1}));
}

TEST(Module, ParametersAreRestoredWhenTheLossThrows) {
  Pair pair;
  const auto* const before = pair.first.weight.node().get();
  EXPECT_THROW(nn::value_and_grad(pair,
                                  [&]() -> Tensor {
                                    pair.first.weight = vector_of({0, 0});
                                    throw Error(ErrorCode::invalid_input, "loss", "no");
                                  }),
               Error);
  EXPECT_EQ(pair.first.weight.node().get(), before);
}

TEST(Module, BuffersKeepWhatTrainingAssigns) {
  Pair pair;
  nn::Generator random(1);
  for (int step = 0; step < 3; ++step) {
    nn::value_and_grad(pair, [&] { return sum(pair.forward(vector_of({1, 1}), Mode::training(random))); });
  }
  nn::eval(pair);
  EXPECT_TRUE(pair.rest[1].calls.is_computed());
  EXPECT_EQ(pair.rest[1].calls.item(), 3);
}

TEST(Module, ConvertsFloatingPointTensors) {
  Scale scale;
  scale.calls = scale.calls.astype(DType::int32);
  nn::convert_to(scale, DType::float64);
  EXPECT_EQ(scale.weight.dtype(), DType::float64);
  EXPECT_EQ(scale.calls.dtype(), DType::int32);
  EXPECT_THROW(nn::convert_to(scale, DType::int32), Error);
}

TEST(Sequential, NestsAndNamesLayersByPosition) {
  nn::Sequential inner{Scale{}, Scale{}};
  nn::Sequential outer{Scale{}, inner};
  EXPECT_EQ(outer.size(), 2U);
  EXPECT_EQ(names_of(outer)[3], "1.0.weight");
  EXPECT_EQ(outer.forward(vector_of({1, 1})).to_cpu<float>(), (std::vector<float>{15, 14}));
  nn::Sequential copy = outer;
  copy.layers()[0].get_if<Scale>()->weight = vector_of({0, 0});
  EXPECT_EQ(outer.forward(vector_of({1, 1})).to_cpu<float>(), (std::vector<float>{15, 14}));
  EXPECT_EQ(copy.layers()[0].kind(), "Scale");
  EXPECT_EQ(copy.layers()[0].get_if<Pair>(), nullptr);
  EXPECT_EQ(nn::Sequential{}.forward(vector_of({4})).item(), 4);
}

TEST(Sequential, ErrorsNameTheLayersPath) {
  nn::Sequential network{Scale{}, nn::Sequential{Scale{}, Pair{}}};
  network.layers()[1].get_if<nn::Sequential>()->layers()[0] =
      nn::Sequential{};  // passes what it gets; the pair behind it does not take it
  network.layers()[0] = nn::Sequential{};
  EXPECT_EQ(message_of([&] { network.forward(vector_of({1, 2, 3})); }), "[1.1.first: scale] expected 2 features");
}

TEST(StateDict, LoadsWhatItSaved) {
  Pair pair;
  pair.rest[0].weight = vector_of({8, 9});
  const nn::StateDict state = nn::state_dict(pair);
  EXPECT_EQ(state.size(), 9U);
  EXPECT_EQ(state.begin()->first, "first.weight");
  Pair other;
  nn::load_state_dict(other, state);
  EXPECT_EQ(other.rest[0].weight.to_cpu<float>(), (std::vector<float>{8, 9}));
}

TEST(StateDict, ConvertsToTheTypeOfTheModule) {
  Scale scale;
  nn::StateDict state;
  state.add("weight", Tensor::from_cpu(std::vector<double>{4, 5}, {2}));
  nn::load_state_dict(scale, state, nn::StateMatch::partial);
  EXPECT_EQ(scale.weight.to_cpu<float>(), (std::vector<float>{4, 5}));
  EXPECT_EQ(scale.bias.to_cpu<float>(), (std::vector<float>{1, -1}));
}

TEST(StateDict, LoadsATiedModuleByOneOfItsNames) {
  struct Tied {
    Scale scale;
    void visit(Visitor& visitor) {
      visitor.child("first", scale);
      visitor.child("second", scale);
    }
  } tied;
  for (const char* const name : {"first.weight", "second.weight"}) {
    tied.scale = Scale();
    nn::StateDict state;
    state.add(name, vector_of({4, 5}));
    nn::load_state_dict(tied, state, nn::StateMatch::partial);
    EXPECT_EQ(tied.scale.weight.to_cpu<float>(), (std::vector<float>{4, 5})) << name;
    EXPECT_EQ(tied.scale.bias.to_cpu<float>(), (std::vector<float>{1, -1})) << name;
  }
}

TEST(StateDict, ErrorsListAllNames) {
  Pair pair;
  pair.rest.clear();
  nn::StateDict state;
  state.add("first.weight", vector_of({1, 2, 3}));
  state.add("first.gamma", vector_of({1}));
  state.add("other", vector_of({1}));
  EXPECT_EQ(
      message_of([&] { nn::load_state_dict(pair, state); }),
      "[load_state_dict] missing: first.bias, first.calls; unused: first.gamma, other; other shapes: first.weight "
      "(expected (2,), received (3,)); give the state of a module of the same layers");
  EXPECT_EQ(pair.first.weight.to_cpu<float>(), (std::vector<float>{2, 3}));
  EXPECT_THROW(nn::load_state_dict(pair, state, nn::StateMatch::partial), Error);
  EXPECT_THROW(state.add("other", vector_of({1})), Error);
  EXPECT_THROW(state.add("empty", Tensor()), Error);
  EXPECT_THROW((void)state.at("none"), Error);
}

// A vector of sorted positions would move 10,000,000,000 of them.
TEST(StateDict, AddsManyTensorsInAnyOrderOfTheirNames) {
  constexpr int count = 150'000;
  const Tensor value = vector_of({1});
  const auto name_of = [](int i) { return std::to_string(count - i + 1'000'000); };
  nn::StateDict state;
  for (int i = 0; i < count; ++i) state.add(name_of(i), value);
  EXPECT_EQ(state.begin()->first, name_of(0));
  for (int i = 0; i < count; ++i) EXPECT_NE(state.find(name_of(i)), nullptr) << i;
}

TEST(StateDict, CopiesAreIndependent) {
  nn::StateDict state;
  state.add("first", vector_of({1}));
  nn::StateDict copy = state;
  copy.add("second", vector_of({2}));
  EXPECT_EQ(state.find("second"), nullptr);
  const nn::StateDict moved = std::move(copy);
  state = {};
  EXPECT_EQ(moved.at("first").to_cpu<float>(), std::vector<float>{1});
  EXPECT_EQ(moved.at("second").to_cpu<float>(), std::vector<float>{2});
}

}  // namespace
}  // namespace vectis
