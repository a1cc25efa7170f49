#include "vectis/nn/network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "vectis/array.hpp"
#include "vectis/nn.hpp"

namespace vectis {
namespace {

using nn::ActivationFunction;
using nn::LayerBuilder;
using nn::LossFunction;
using nn::Network;
using nn::Tensor;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

Network classifier() {
  return Network::with_input_size(784)
      .add_layer(LayerBuilder::dense(512).activation(ActivationFunction::ReLU))
      .add_layer(LayerBuilder::dense(256).activation(ActivationFunction::ReLU))
      .add_layer(LayerBuilder::dense(10).activation(ActivationFunction::Softmax))
      .loss(LossFunction::CategoricalCrossEntropy)
      .build();
}

TEST(Network, OfTheDocuments) {
  Network network = classifier();
  EXPECT_EQ(network.output_shape(), Shape{10});
  std::vector<std::string> names;
  for (const nn::NamedTensor& tensor : nn::named_tensors(network)) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias"}));
  nn::Generator random(1);
  const Tensor x = random.uniform({3, 784});
  const Tensor y = network.predict(x);
  EXPECT_EQ(y.shape(), (Shape{3, 10}));
  for (const float total : sum(y, {1}).to_cpu<float>()) EXPECT_NEAR(total, 1, 1e-5);
  EXPECT_EQ(y.to_cpu<float>(), network.forward(x).to_cpu<float>());
}

TEST(Network, SummaryHasLayersShapesAndParameters) {
  EXPECT_EQ(classifier().summary(),
            "layer      output  parameters\n"
            "0 Dense    (512,)     401,920\n"
            "1 ReLU     (512,)           0\n"
            "2 Dense    (256,)     131,328\n"
            "3 ReLU     (256,)           0\n"
            "4 Dense    (10,)        2,570\n"
            "5 Softmax  (10,)            0\n"
            "535,818 parameters, 2.0 MiB; loss CategoricalCrossEntropy\n");
}

TEST(Network, LossIsThatOfTheOutput) {
  Network network = classifier();
  nn::Generator random(2);
  const Tensor x = random.normal({4, 784});
  const Tensor classes = Tensor::from_cpu(std::vector<std::int32_t>{1, 9, 0, 4}, {4});
  const Tensor one_hot = equal(classes.reshape({4, 1}), array::arange(0, 10)).astype(DType::float32);
  const double expected = -mean(log(sum(network.forward(x) * one_hot, {1}))).item();
  EXPECT_NEAR(network.loss(network.logits(x), classes).item(), expected, 1e-5);
  EXPECT_NEAR(network.loss(network.logits(x), one_hot).item(), expected, 1e-5);
}

TEST(Network, EqualGeneratorsGiveEqualNetworks) {
  const auto weights = [](std::uint64_t seed) {
    Network network = Network::with_input_size(3).add_layer(LayerBuilder::dense(2)).random(nn::Generator(seed)).build();
    return nn::parameters(network)[0]->to_cpu<float>();
  };
  EXPECT_EQ(weights(7), weights(7));
  EXPECT_NE(weights(7), weights(8));
}

TEST(Network, InputTypeFollowsItsParameters) {
  const auto build = [](const nn::NetworkBuilder& builder) { return builder.build(); };
  const auto dense = [] { return Network::with_input_size(3).add_layer(LayerBuilder::dense(2)); };
  Network network = build(dense());
  EXPECT_EQ(network.input_type(), DType::float32);
  nn::convert_to(network, DType::float64);
  EXPECT_EQ(network.input_type(), DType::float64);
  Network narrow = build(dense().input_type(DType::float16));
  EXPECT_EQ(narrow.input_type(), DType::float16);
  Network tokens = build(Network::with_input_size(3).add_layer(LayerBuilder::embedding(5, 2)));
  nn::convert_to(tokens, DType::float64);
  EXPECT_EQ(tokens.input_type(), DType::int32);
}

TEST(Network, EveryLayerFindsItsSize) {
  Network images = Network::with_input_shape({1, 28, 28})
                       .add_layer(LayerBuilder::conv2d(8, {3}, {.padding = {1}}).activation(ActivationFunction::ReLU))
                       .add_layer(LayerBuilder::batch_norm())
                       .add_layer(LayerBuilder::max_pool({2}))
                       .add_layer(LayerBuilder::conv2d(16, {3}))
                       .add_layer(LayerBuilder::group_norm(4))
                       .add_layer(LayerBuilder::average_pool({2}))
                       .add_layer(LayerBuilder::dropout(0.2))
                       .add_layer(LayerBuilder::flatten())
                       .add_layer(LayerBuilder::dense(10))
                       .loss(LossFunction::SparseCategoricalCrossEntropy)
                       .build();
  EXPECT_EQ(images.output_shape(), Shape{10});
  EXPECT_EQ(nn::state_dict(images).at("9.weight").shape(), (Shape{10, 16 * 6 * 6}));

  Network text = Network::with_input_size(12)
                     .add_layer(LayerBuilder::embedding(50, 16))
                     .add_layer(LayerBuilder::positional_encoding(20))
                     .add_layer(LayerBuilder::transformer_encoder(1, 4, {.feed_forward = 32}))
                     .add_layer(LayerBuilder::layer_norm())
                     .add_layer(LayerBuilder::rms_norm())
                     .add_layer(LayerBuilder::attention(2))
                     .add_layer(LayerBuilder::lstm(6, {.bidirectional = true}))
                     .add_layer(LayerBuilder::gru(5))
                     .add_layer(LayerBuilder::rnn(4))
                     .add_layer(LayerBuilder::last_of_sequence())
                     .add_layer(LayerBuilder::dense(1).activation(ActivationFunction::Sigmoid))
                     .loss(LossFunction::BinaryCrossEntropy)
                     .build();
  EXPECT_EQ(text.input_type(), DType::int32);
  nn::Generator random(3);
  const Tensor tokens = random.integers({2, 12}, 0, 50);
  EXPECT_EQ(text.predict(tokens).shape(), (Shape{2, 1}));
  const auto [loss, gradients] = nn::value_and_grad(
      text, [&] { return text.loss(text.logits(tokens, nn::Mode::training(random)), array::ones({2, 1})); });
  EXPECT_TRUE(std::isfinite(loss.item()));
  EXPECT_EQ(gradients.size(), nn::parameters(text).size());
}

TEST(Network, LossesOfSequences) {
  Network network = Network::with_input_shape({5, 3})
                        .add_layer(LayerBuilder::dense(4).activation(ActivationFunction::Softmax))
                        .loss(LossFunction::CategoricalCrossEntropy)
                        .build();
  nn::Generator random(4);
  const Tensor x = random.normal({2, 5, 3});
  const Tensor classes = random.integers({2, 5}, 0, 4);
  const Tensor one_hot = equal(expand_dims(classes, -1), array::arange(0, 4)).astype(DType::float32);
  const double expected = -mean(log(sum(network.forward(x) * one_hot, {2}))).item();
  EXPECT_NEAR(network.loss(network.logits(x), classes).item(), expected, 1e-5);
  EXPECT_NEAR(network.loss(network.logits(x), one_hot).item(), expected, 1e-5);
}

TEST(Network, ErrorsNameTheLayer) {
  EXPECT_EQ(error_of([] { (void)Network::with_input_size(4).build(); }),
            "[build] the network has no layers; add_layer() first");
  EXPECT_EQ(error_of([] {
              (void)Network::with_input_size(784)
                  .add_layer(LayerBuilder::dense(8).activation(ActivationFunction::ReLU))
                  .add_layer(LayerBuilder::conv2d(4, {3}))
                  .build();
            }),
            "[2: conv2d] expected an array (batch, channels, 2 extents), received shape (1, 8); reshape it");
  EXPECT_EQ(error_of([] { (void)Network::with_input_size(0).add_layer(LayerBuilder::dense(8)).build(); }),
            "[build] an extent of the input is 0; give at least 1");
  EXPECT_EQ(error_of([] { (void)Network::with_input_size(4).add_layer(LayerBuilder::dense(0)).build(); }),
            "[0: dense] the number of outputs is 0; give at least 1");
  const auto ending_in = [](std::int64_t units, ActivationFunction function, LossFunction loss) {
    return error_of([=] {
      (void)Network::with_input_size(4).add_layer(LayerBuilder::dense(units).activation(function)).loss(loss).build();
    });
  };
  EXPECT_EQ(
      ending_in(2, ActivationFunction::Sigmoid, LossFunction::CategoricalCrossEntropy),
      "[build] Sigmoid before CategoricalCrossEntropy, whose outputs are the probabilities of one class each; end "
      "with Softmax, or use BinaryCrossEntropy");
  EXPECT_EQ(
      ending_in(1, ActivationFunction::Softmax, LossFunction::SparseCategoricalCrossEntropy),
      "[build] SparseCategoricalCrossEntropy of outputs of shape (1,), which have one class; give a last layer of "
      "two or more, or use BinaryCrossEntropy");
  EXPECT_EQ(
      ending_in(2, ActivationFunction::Softmax, LossFunction::BinaryCrossEntropy),
      "[build] Softmax before BinaryCrossEntropy, whose outputs are independent of each other; end with Sigmoid, or "
      "use CategoricalCrossEntropy");
  Network network = Network::with_input_size(4).add_layer(LayerBuilder::dense(3)).build();
  EXPECT_EQ(error_of([&] { (void)network.predict(array::zeros({2, 5})); }),
            "[0: dense] expected 4 features along axis -1, received shape (2, 5); change the input or the layer");
}

}  // namespace
}  // namespace vectis
