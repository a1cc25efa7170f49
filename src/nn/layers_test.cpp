// What comparisons with PyTorch do not show: random numbers, caches, initial values, errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array.hpp"
#include "vectis/nn.hpp"

namespace vectis {
namespace {

using nn::Generator;
using nn::Mode;
using nn::Tensor;
constexpr ErrorCode invalid = ErrorCode::invalid_input;

double largest_difference(const Tensor& a, const Tensor& b) { return max(absolute(a - b)).item(); }

TEST(Dropout, KeepsTheMeanAndRepeatsWithItsGenerator) {
  Generator random(test::seed());
  Generator same(test::seed());
  const Tensor x = array::ones({200, 100});
  nn::Dropout dropout(0.3);
  const Tensor y = dropout.forward(x, Mode::training(random));
  const Tensor again = dropout.forward(x, Mode::training(same));
  EXPECT_EQ(largest_difference(y, again), 0);
  EXPECT_GT(largest_difference(y, dropout.forward(x, Mode::training(random))), 0);
  // 20,000 Bernoulli numbers: five deviations of their mean.
  EXPECT_NEAR(mean(y).item(), 1, 5 * std::sqrt(0.3 / 0.7 / 20000));
  EXPECT_NEAR(mean(equal(y, 0).astype(DType::float32)).item(), 0.3, 5 * std::sqrt(0.3 * 0.7 / 20000));
  EXPECT_EQ(dropout.forward(x).node(), x.node());
  EXPECT_ERROR(nn::Dropout(1), invalid, "[dropout]", "probability of dropout is 1");
  EXPECT_ERROR(nn::Dropout(-0.1), invalid, "[dropout]");
}

TEST(Attention, CacheGivesWhatTheWholeSequenceDoes) {
  Generator random(test::seed());
  const nn::MultiHeadAttention attention(8, 2, random);
  const Tensor x = random.normal({2, 6, 8});
  const Tensor whole = attention.attend(x, x, x, {.is_causal = true});
  nn::KeyValueCache cache;
  for (const auto& [first, last] : {std::pair{0, 2}, std::pair{2, 3}, std::pair{3, 6}}) {
    const Tensor piece = slice(x, 1, {first, last});
    const Tensor y = attention.attend(piece, piece, piece, {.is_causal = true}, {}, &cache);
    EXPECT_LT(largest_difference(y, slice(whole, 1, {first, last})), 1e-6);
    EXPECT_EQ(cache.positions(), last);
  }
}

TEST(Transformer, CachesGiveWhatTheWholeSequenceDoes) {
  Generator random(test::seed());
  const nn::TransformerOptions options{.feed_forward = 16, .dropout = 0.1, .norm_first = true};
  const nn::TransformerEncoder encoder(2, 8, 2, random, options);
  const nn::TransformerDecoder decoder(2, 8, 2, random, options);
  const Tensor x = random.normal({1, 5, 8});
  const Tensor memory = random.normal({1, 3, 8});
  const Tensor encoded = encoder.forward(x, {.is_causal = true});
  const Tensor decoded = decoder.forward(x, memory, {.self = {.is_causal = true}});
  std::vector<nn::KeyValueCache> encoder_caches;
  std::vector<nn::KeyValueCache> decoder_caches;
  for (std::int64_t at = 0; at < 5; ++at) {
    const Tensor one = slice(x, 1, {at, at + 1});
    const Tensor here = encoder.forward(one, {.is_causal = true}, {}, &encoder_caches);
    const Tensor there = decoder.forward(one, memory, {.self = {.is_causal = true}}, {}, &decoder_caches);
    EXPECT_LT(largest_difference(here, slice(encoded, 1, {at, at + 1})), 1e-5);
    EXPECT_LT(largest_difference(there, slice(decoded, 1, {at, at + 1})), 1e-5);
  }
  encoder_caches.resize(1);
  EXPECT_ERROR((void)encoder.forward(x, {}, {}, &encoder_caches), invalid, "1 caches for 2 layers");
}

// The first layers have appended to their caches when the last one fails.
TEST(Transformer, AFailedCallLeavesCachesAsTheyWere) {
  Generator random(test::seed());
  const nn::TransformerOptions options{.feed_forward = 16, .dropout = 0};
  nn::TransformerEncoder encoder(2, 8, 2, random, options);
  nn::TransformerDecoder decoder(2, 8, 2, random, options);
  const Tensor x = random.normal({1, 2, 8});
  std::vector<nn::KeyValueCache> encoder_caches;
  std::vector<nn::KeyValueCache> decoder_caches;
  (void)encoder.forward(x, {}, {}, &encoder_caches);
  (void)decoder.forward(x, x, {}, {}, &decoder_caches);
  const nn::AttentionMask wrong{.key_padding = array::zeros({1, 7}, DType::boolean)};
  nn::KeyValueCache cache = encoder_caches[0];
  EXPECT_ERROR((void)encoder.layers[0].self_attn.attend(x, x, x, wrong, {}, &cache), invalid, "7");
  EXPECT_EQ(cache.positions(), 2);
  encoder.layers[1].linear2 = nn::Dense(16, 5, random);
  decoder.layers[1].linear2 = nn::Dense(16, 5, random);
  EXPECT_ERROR((void)encoder.layers[1].forward(x, {}, {}, &cache), invalid);
  EXPECT_EQ(cache.positions(), 2);
  EXPECT_ERROR((void)encoder.forward(x, {}, {}, &encoder_caches), invalid, "layers.1");
  EXPECT_ERROR((void)decoder.forward(x, x, {}, {}, &decoder_caches), invalid, "layers.1");
  for (const auto& caches : {encoder_caches, decoder_caches}) {
    for (const nn::KeyValueCache& one : caches) EXPECT_EQ(one.positions(), 2);
  }
  std::vector<nn::KeyValueCache> none;
  EXPECT_ERROR((void)encoder.forward(x, {}, {}, &none), invalid, "layers.1");
  EXPECT_TRUE(none.empty());
}

TEST(Normalization, OfIntegersIsThatOfTheirFloats) {
  Generator random(test::seed());
  const Tensor x = random.integers({4, 6, 3}, -50, 50);
  const auto expect_same = [&](auto&& module) {
    const Tensor y = module.forward(x);
    EXPECT_EQ(y.dtype(), DType::float32);
    EXPECT_EQ(largest_difference(y, module.forward(x.astype(DType::float32))), 0);
    EXPECT_EQ(module.forward(x.astype(DType::float16)).dtype(), DType::float16);
  };
  expect_same(nn::BatchNorm(6));
  expect_same(nn::LayerNorm({3}));
  expect_same(nn::RMSNorm({3}));
  expect_same(nn::GroupNorm(2, 6));
}

TEST(Recurrent, TakesOtherTypesAndEmptyBatches) {
  Generator random(test::seed());
  nn::LSTM lstm(3, 4, random);
  nn::GRU gru(3, 4, random);
  const Tensor x = random.normal({5, 2, 3});
  const Tensor wide = lstm.forward(x.astype(DType::float64));
  EXPECT_EQ(wide.dtype(), DType::float64);
  EXPECT_LT(largest_difference(wide, lstm.forward(x)), 1e-5);
  EXPECT_EQ(gru.forward(x.astype(DType::float64)).dtype(), DType::float64);
  nn::convert_to(lstm, DType::float16);
  EXPECT_EQ(lstm.forward(x).dtype(), DType::float32);
  EXPECT_LT(largest_difference(wide, lstm.forward(x)), 1e-2);
  const auto empty = [&](auto& module) {
    const auto [loss, gradients] =
        nn::value_and_grad(module, [&] { return sum(module.forward(array::zeros({5, 0, 3}))); });
    EXPECT_EQ(loss.item(), 0);
    for (const Tensor& gradient : gradients) EXPECT_EQ(max(absolute(gradient)).item(), 0);
    EXPECT_EQ(module.forward(array::zeros({5, 0, 3})).shape(), (Shape{5, 0, 4}));
  };
  empty(lstm);
  empty(gru);
}

TEST(PositionalEncoding, ContinuesAtAPosition) {
  const nn::PositionalEncoding encoding(6, 10);
  const Tensor zeros = array::zeros({1, 4, 6});
  const Tensor all = encoding.forward(array::zeros({1, 8, 6}));
  EXPECT_EQ(largest_difference(encoding.forward(zeros, {}, 3), slice(all, 1, {3, 7})), 0);
  EXPECT_NEAR(all[0][5][2].item(), std::sin(5 / std::pow(10000.0, 2.0 / 6)), 1e-6);
  EXPECT_NEAR(all[0][5][3].item(), std::cos(5 / std::pow(10000.0, 2.0 / 6)), 1e-6);
  EXPECT_ERROR((void)encoding.forward(zeros, {}, 7), invalid, "4 positions from 7 on, of a table of 10");
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_ERROR((void)encoding.forward(zeros, {}, largest), invalid, "from 9223372036854775807 on");
  EXPECT_ERROR((void)encoding.forward(zeros, {}, -1), invalid, "from -1 on");
  EXPECT_ERROR(nn::PositionalEncoding(8, std::int64_t{1} << 61), invalid, "2305843009213693952 positions");
  EXPECT_ERROR(nn::PositionalEncoding(largest - 1, largest), invalid, "positions");
  EXPECT_ERROR(nn::PositionalEncoding(4, 8, NAN), invalid, "[positional_encoding]", "dropout is nan");
  EXPECT_ERROR(nn::PositionalEncoding(5, 10), invalid, "5 features");
  Generator random(1);
  const nn::PositionalEmbedding embedding(6, 10, random);
  EXPECT_EQ(largest_difference(embedding.forward(zeros, {}, 3)[0], slice(embedding.weight, 0, {3, 7})), 0);
}

TEST(Initialization, HasTheBoundsAndDeviationsOfPyTorch) {
  Generator random(test::seed());
  const auto deviation = [](const Tensor& x) { return stddev(x).item(); };
  const auto bound = [](const Tensor& x) { return max(absolute(x)).item(); };
  const nn::Dense dense(400, 300, random);
  EXPECT_LE(bound(dense.weight), 1 / 20.0);
  EXPECT_GT(bound(dense.weight), 0.99 / 20);
  EXPECT_NEAR(deviation(dense.weight), 1 / 20.0 / std::sqrt(3), 3e-4);
  const nn::Conv2d conv(8, 16, {3}, random, {.groups = 2});
  EXPECT_LE(bound(conv.weight), 1 / 6.0);
  EXPECT_GT(bound(conv.weight), 0.97 / 6);
  EXPECT_LE(bound(conv.bias), 1 / 6.0);
  const nn::MultiHeadAttention attention(64, 4, random);
  EXPECT_LE(bound(attention.in_proj_weight), std::sqrt(6.0 / 256));
  EXPECT_GT(bound(attention.in_proj_weight), 0.99 * std::sqrt(6.0 / 256));
  EXPECT_EQ(bound(attention.in_proj_bias), 0);
  EXPECT_NEAR(deviation(nn::Embedding(100, 200, random).weight), 1, 0.03);
  EXPECT_NEAR(deviation(nn::kaiming_normal({300, 400}, random)), std::sqrt(2.0 / 400), 1e-3);
  EXPECT_NEAR(deviation(nn::kaiming_uniform({300, 400}, random)), std::sqrt(2.0 / 400), 1e-3);
  EXPECT_NEAR(deviation(nn::xavier_normal({300, 400}, random)), std::sqrt(2.0 / 700), 1e-3);
  EXPECT_ERROR(nn::kaiming_normal({4}, random), invalid, "[initialization]", "(4,)");
}

TEST(Layers, ErrorsNameWhatWasExpected) {
  Generator random(1);
  const Tensor x = array::zeros({2, 5, 8});
  EXPECT_ERROR((void)nn::Dense(4, 2, random).forward(x), invalid, "[dense] expected 4 features along axis -1",
               "(2, 5, 8)");
  EXPECT_ERROR((void)nn::Conv2d(4, 2, {3}, random).forward(x), invalid, "[conv2d]", "(batch, channels, 2 extents)");
  EXPECT_ERROR((void)nn::Conv1d(4, 2, {3}, random).forward(x), invalid, "[conv1d] expected 4 channels along axis 1");
  EXPECT_ERROR(nn::Conv2d(4, 2, {3}, random, {.groups = 3}), invalid, "3 groups");
  EXPECT_ERROR(nn::Conv2d(4, 2, {3, 3, 3}, random), invalid, "3 numbers for 2 axes");
  EXPECT_ERROR(nn::Conv2d(4, 2, {0}, random), invalid, "an extent of the kernel is 0");
  EXPECT_ERROR((void)nn::BatchNorm(4).forward(x), invalid, "[batch_norm] expected 4 channels along axis 1");
  EXPECT_ERROR((void)nn::BatchNorm(5).forward(array::zeros({1, 5}), Mode::training(random)), invalid,
               "1 elements in each channel");
  EXPECT_ERROR((void)nn::LayerNorm({4}).forward(x), invalid, "[layer_norm] expected 4 features along axis -1");
  EXPECT_ERROR(nn::LayerNorm(Shape{}), invalid, "[layer_norm]");
  EXPECT_ERROR(nn::GroupNorm(3, 4), invalid, "4 channels do not divide into 3 groups");
  EXPECT_ERROR((void)nn::Embedding(4, 2, random).forward(x), invalid, "[embedding] expected integers");
  EXPECT_ERROR((void)nn::Embedding(4, 2, random).forward(Tensor::from_cpu(std::vector<std::int32_t>{4}, {1})).eval(),
               invalid, "4");
  EXPECT_ERROR((void)nn::Embedding(4, 2, random).forward(Tensor::from_cpu(std::vector<std::int32_t>{-1}, {1})).eval(),
               invalid, "index -1", "give 0 to 3");
  EXPECT_ERROR(nn::Embedding(4, 2, random, {.padding_index = 4}), invalid, "padding index 4");
  EXPECT_ERROR(nn::BatchNorm(4, {.epsilon = -1}), invalid, "[batch_norm] epsilon is -1");
  EXPECT_ERROR(nn::LayerNorm({4}, {.epsilon = -1}), invalid, "[layer_norm] epsilon is -1");
  EXPECT_ERROR(nn::RMSNorm({4}, {.epsilon = NAN}), invalid, "[rms_norm] epsilon is nan");
  EXPECT_ERROR(nn::GroupNorm(1, 4, {.epsilon = -1}), invalid, "[group_norm] epsilon is -1");
  EXPECT_ERROR(nn::MultiHeadAttention(4, 2, random, {.dropout = -0.5}), invalid, "[attention]", "dropout is -0.5");
  EXPECT_ERROR(nn::TransformerEncoderLayer(4, 2, random, {.dropout = 1}), invalid, "dropout is 1");
  EXPECT_ERROR(nn::LSTM(4, 2, random, {.dropout = NAN}), invalid, "[lstm]", "dropout is nan");
  EXPECT_ERROR(
      (void)nn::MultiHeadAttention(8, 2, random).attend(x, x, x, {.scores = array::zeros({5, 5}, DType::int32)}),
      invalid, "[attention] a mask has type int32");
  EXPECT_ERROR((void)nn::LSTM(4, 2, random).forward(x), invalid, "[lstm] expected 4 features along axis 2");
  EXPECT_ERROR((void)nn::GRU(8, 2, random).run(x, {array::zeros({1, 2, 2}), {}}), invalid,
               "[gru] expected a state of shape (1, 5, 2), received (1, 2, 2)");
  EXPECT_ERROR((void)nn::RNN(8, 2, random).forward(array::zeros({0, 2, 8})), invalid, "the sequence is empty");
  EXPECT_ERROR(nn::MultiHeadAttention(8, 3, random), invalid, "8 features do not divide into 3 heads");
  EXPECT_ERROR((void)nn::TransformerEncoderLayer(4, 2, random).forward(x), invalid, "[self_attn: attention]");
  EXPECT_ERROR((void)nn::TransformerEncoder(2, 4, 2, random).forward(x), invalid,
               "[layers.0.self_attn: attention] expected 4 features");
}

TEST(Losses, ErrorsNameWhatWasExpected) {
  const Tensor x = array::zeros({2, 5});
  const Tensor classes = array::zeros({2}, DType::int32);
  EXPECT_ERROR(nn::mse_loss(x, classes), invalid, "[mse_loss]", "(2, 5)", "(2,)");
  EXPECT_ERROR(nn::cross_entropy(x, array::zeros({3}, DType::int32)), invalid, "[cross_entropy]", "(3,)");
  EXPECT_ERROR(nn::cross_entropy(x, array::zeros({2, 4})), invalid, "[cross_entropy]", "(2, 4)");
  EXPECT_ERROR(nn::cross_entropy(x, classes, {.label_smoothing = 1.5}), invalid, "1.5");
  EXPECT_ERROR(nn::cross_entropy(x, classes, {.weight = array::ones({4})}), invalid, "(4,)");
  EXPECT_ERROR(nn::cross_entropy(x, x, {.ignore_index = 1}), invalid, "give class numbers");
  const auto of_classes = [&](std::vector<std::int64_t> labels) {
    return nn::cross_entropy(x, Tensor::from_cpu(labels, {2}), {.ignore_index = -100}).item();
  };
  EXPECT_NEAR(of_classes({-100, 4}), std::log(5), 1e-6);
  EXPECT_ERROR((void)of_classes({0, -1}), invalid, "index -1 of an axis of 5 elements; give 0 to 4");
  EXPECT_ERROR((void)of_classes({0, 5}), invalid, "index 5 of an axis of 5 elements; give 0 to 4");
  EXPECT_ERROR(nn::huber_loss(x, x, 0), invalid, "delta is 0");
  EXPECT_ERROR(nn::info_nce_loss(x, x, 0), invalid, "temperature is 0");
  EXPECT_ERROR(nn::triplet_loss(x, x, classes), invalid, "[triplet_loss]");
}

// Values as in PyTorch: log is at least -100.
TEST(Losses, BinaryCrossEntropyHasFiniteGradientsEverywhere) {
  const std::vector<float> edges = {0, 1e-45F, 1e-30F, 1e-5F, 0.3F, 0.99999994F, 1};
  const auto count = static_cast<std::int64_t>(edges.size());
  const Tensor p = Tensor::from_cpu(edges, {count});
  for (const float target : {0.0F, 0.25F, 1.0F}) {
    const Tensor t = array::full({count}, target);
    const std::vector<float> losses = nn::binary_cross_entropy(p, t, nn::Reduction::none).to_cpu<float>();
    const auto loss = [&](const Tensor& x) { return nn::binary_cross_entropy(x, t, nn::Reduction::sum); };
    const std::vector<float> gradients = array::grad(loss, p).to_cpu<float>();
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const double positive = std::max(std::log(static_cast<double>(edges[i])), -100.0);
      const double negative = std::max(std::log(static_cast<double>(1 - edges[i])), -100.0);
      EXPECT_NEAR(losses[i], -(target * positive + (1 - target) * negative), 1e-4) << edges[i] << ' ' << target;
      EXPECT_TRUE(std::isfinite(gradients[i])) << edges[i] << ' ' << target;
    }
    EXPECT_NEAR(gradients[4], -target / 0.3 + (1 - target) / 0.7, 1e-5);
    EXPECT_EQ(gradients.front() < 0, target > 0);  // away from a wrong 0 or 1
    EXPECT_EQ(gradients.back() > 0, target < 1);
    for (const DType type : {DType::float16, DType::bfloat16}) {
      for (const float value : array::grad(loss, p.astype(type)).astype(DType::float32).to_cpu<float>())
        EXPECT_TRUE(std::isfinite(value));
    }
  }
}

TEST(Losses, IgnoredRowsMayHaveAnyLogits) {
  Generator random(test::seed());
  const Tensor finite = random.normal({6, 5});
  const Tensor labels = Tensor::from_cpu(std::vector<std::int64_t>{1, -100, 2, -100, 0, -100}, {6});
  const Tensor rows = Tensor::from_cpu(std::vector<float>{0, NAN, 0, INFINITY, 0, -INFINITY}, {6, 1});
  const Tensor wild = finite + rows;
  for (const double smoothing : {0.0, 0.1}) {
    for (const Tensor& weight : {Tensor(), random.uniform({5})}) {
      const nn::CrossEntropyOptions options{.label_smoothing = smoothing, .ignore_index = -100, .weight = weight};
      const auto loss = [&](const Tensor& x) { return nn::cross_entropy(x, labels, options); };
      EXPECT_EQ(loss(wild).item(), loss(finite).item());
      EXPECT_EQ(largest_difference(array::grad(loss, wild), array::grad(loss, finite)), 0);
      const auto of_shares = [&](const Tensor& x) { return nn::cross_entropy_of_probabilities(x, labels, options); };
      const Tensor shares = softmax(finite);
      EXPECT_EQ(of_shares(shares + rows).item(), of_shares(shares).item());
      EXPECT_EQ(largest_difference(array::grad(of_shares, shares + rows), array::grad(of_shares, shares)), 0);
    }
  }
}

TEST(Losses, CrossEntropyOfProbabilitiesIsThatOfTheirLogits) {
  Generator random(test::seed());
  const Tensor logits = random.normal({6, 5});
  const Tensor classes = random.integers({6}, 0, 5);
  const nn::CrossEntropyOptions options{.label_smoothing = 0.1, .ignore_index = 2};
  EXPECT_NEAR(nn::cross_entropy_of_probabilities(softmax(logits), classes, options).item(),
              nn::cross_entropy(logits, classes, options).item(), 1e-5);
}

}  // namespace
}  // namespace vectis
