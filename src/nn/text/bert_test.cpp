#include "vectis/nn/bert.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/expect_error.hpp"
#include "vectis/array/operations.hpp"

namespace vectis::nn {
namespace {

using testing::Contains;

const BertOptions tiny{.vocab_size = 7,
                       .hidden_size = 4,
                       .num_hidden_layers = 2,
                       .num_attention_heads = 2,
                       .intermediate_size = 6,
                       .max_position_embeddings = 5,
                       .type_vocab_size = 2};

Bert tiny_bert(std::uint64_t seed) {
  Generator random(seed);
  return {tiny, random};
}

Tensor tiny_ids() { return Tensor::from_cpu(std::vector<std::int32_t>{2, 3, 4, 5, 3, 0}, {2, 3}); }

std::vector<std::string> names_of(ModuleRef module) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : named_tensors(module)) names.push_back(tensor.name);
  return names;
}

std::vector<float> values_of(const Bert& model) { return model.forward(tiny_ids()).to_cpu<float>(); }

TEST(BertTest, HasTheNamesOfHuggingFace) {
  Bert model = tiny_bert(1);
  const std::vector<std::string> names = names_of(model);
  EXPECT_EQ(names.size(), 5U + 2 * 16);
  for (const char* const name :
       {"embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
        "embeddings.token_type_embeddings.weight", "embeddings.LayerNorm.bias",
        "encoder.layer.0.attention.self.query.weight", "encoder.layer.1.attention.output.dense.bias",
        "encoder.layer.1.attention.output.LayerNorm.weight", "encoder.layer.0.intermediate.dense.weight",
        "encoder.layer.0.output.dense.weight", "encoder.layer.0.output.LayerNorm.bias"}) {
    EXPECT_THAT(names, Contains(name));
  }
  EXPECT_EQ(parameter_count(model), (7 + 5 + 2 + 2) * 4 + 2 * (4 * (16 + 4) + 2 * 24 + 6 + 4 + 4 * 4));
}

TEST(BertTest, PaddingChangesNothing) {
  const Bert model = tiny_bert(1);
  const Tensor one = Tensor::from_cpu(std::vector<std::int32_t>{2, 3}, {1, 2});
  const Tensor longer = Tensor::from_cpu(std::vector<std::int32_t>{2, 3, 6, 6}, {1, 4});
  const Tensor padding = array::greater(longer, 5);
  const Tensor expected = model.forward(one);
  const Tensor padded = slice(model.forward(longer, {.padding = padding}), 1, {.stop = 2});
  EXPECT_LT(array::max(absolute(padded - expected)).item(), 1e-6);
}

TEST(BertTest, TypesOfTokensAreZeroByDefault) {
  const Bert model = tiny_bert(1);
  const Tensor zeros = array::zeros({2, 3}, DType::int32);
  const Tensor expected = model.forward(tiny_ids());
  EXPECT_EQ(model.forward(tiny_ids(), {.token_types = zeros}).to_cpu<float>(), expected.to_cpu<float>());
  const Tensor others = model.forward(tiny_ids(), {.token_types = array::ones({2, 3}, DType::int32)});
  EXPECT_GT(array::max(absolute(others - expected)).item(), 1e-3);
}

TEST(BertTest, TrainingDropsAtRandom) {
  const Bert model = tiny_bert(1);
  Generator random(3);
  const Tensor trained = model.forward(tiny_ids(), Mode::training(random));
  EXPECT_GT(array::max(absolute(trained - model.forward(tiny_ids()))).item(), 1e-3);
}

TEST(BertTest, RejectsSizesOutOfRange) {
  const auto expect_rejected = [](BertOptions options, const std::string& message) {
    Generator random;
    EXPECT_ERROR(Bert(options, random), ErrorCode::invalid_input, message);
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t size : {std::int64_t{0}, std::int64_t{-1}, huge}) {
    expect_rejected({.vocab_size = size}, fmt::format("vocab_size is {}", size));
    expect_rejected({.hidden_size = size}, "hidden_size");
    expect_rejected({.num_hidden_layers = size}, "num_hidden_layers");
    expect_rejected({.num_attention_heads = size}, "num_attention_heads");
    expect_rejected({.intermediate_size = size}, "intermediate_size");
    expect_rejected({.max_position_embeddings = size}, "max_position_embeddings");
    expect_rejected({.type_vocab_size = size}, "type_vocab_size");
  }
  expect_rejected({.hidden_size = 10, .num_attention_heads = 3}, "does not divide into 3 heads");
  expect_rejected({.layer_norm_eps = -1}, "layer_norm_eps");
  expect_rejected({.hidden_dropout_prob = 1}, "dropout");
}

TEST(BertTest, RejectsInputsThatDoNotFit) {
  const Bert model = tiny_bert(1);
  EXPECT_ERROR(static_cast<void>(model.forward(array::zeros({3}, DType::int32))), ErrorCode::invalid_input,
               "(batch, sequence)");
  EXPECT_ERROR(static_cast<void>(model.forward(array::zeros({1, 6}, DType::int32))), ErrorCode::invalid_input,
               "6 tokens, at most 5");
  EXPECT_ERROR(static_cast<void>(model.forward(array::zeros({1, 2}))), ErrorCode::invalid_input, "embeddings");
  EXPECT_ERROR(model.forward(array::full({1, 2}, 7, DType::int32)).eval(), ErrorCode::invalid_input, "7");
}

// The state of a model as files of Hugging Face have it, with other parts beside it.
StateDict state_in_file(Bert& model, const std::string& prefix, bool is_old) {
  StateDict state;
  for (auto [name, value] : state_dict(model)) {
    const std::size_t norm = is_old ? name.find("LayerNorm.") : std::string::npos;
    if (norm != std::string::npos)
      name.replace(norm + 10, std::string::npos, name.ends_with("bias") ? "beta" : "gamma");
    state.add(prefix + name, value);
  }
  state.add(prefix + "embeddings.position_ids", array::zeros({1, 5}, DType::int64));
  state.add(prefix + "pooler.dense.weight", array::zeros({4, 4}));
  if (!prefix.empty()) state.add("cls.predictions.bias", array::zeros({7}));
  return state;
}

TEST(BertTest, LoadsTheStateOfEveryForm) {
  Bert source = tiny_bert(1);
  const std::vector<float> expected = values_of(source);
  for (const std::string prefix : {"", "bert."}) {
    for (const bool is_old : {false, true}) {
      Bert model = tiny_bert(2);
      ASSERT_NE(values_of(model), expected);
      load_bert_state(model, state_in_file(source, prefix, is_old));
      EXPECT_EQ(values_of(model), expected) << prefix << is_old;
    }
  }
}

TEST(BertTest, RejectsTheStateOfAnotherModel) {
  Bert model = tiny_bert(1);
  EXPECT_ERROR(load_bert_state(model, {}), ErrorCode::invalid_input, "missing", "embeddings.word_embeddings.weight");
  BertOptions deeper = tiny;
  deeper.num_hidden_layers = 3;
  Generator random(1);
  Bert other(deeper, random);
  EXPECT_ERROR(load_bert_state(model, state_dict(other)), ErrorCode::invalid_input, "unused", "encoder.layer.2");
}

TEST(BertConfigTest, ReadsMembersAndDefaults) {
  const BertOptions none = parse_bert_config("{}");
  EXPECT_EQ(none.hidden_size, 768);
  EXPECT_EQ(none.hidden_act, ActivationFunction::GELU);
  const BertOptions read = parse_bert_config(
      R"({"model_type":"bert","hidden_size":12,"num_attention_heads":3,"num_hidden_layers":2,"intermediate_size":5,)"
      R"("vocab_size":9,"max_position_embeddings":4,"type_vocab_size":1,"hidden_act":"gelu_new","layer_norm_eps":1e-5,)"
      R"("hidden_dropout_prob":0,"attention_probs_dropout_prob":0.5,"position_embedding_type":"absolute"})");
  EXPECT_EQ(read.hidden_size, 12);
  EXPECT_EQ(read.num_attention_heads, 3);
  EXPECT_EQ(read.num_hidden_layers, 2);
  EXPECT_EQ(read.intermediate_size, 5);
  EXPECT_EQ(read.vocab_size, 9);
  EXPECT_EQ(read.max_position_embeddings, 4);
  EXPECT_EQ(read.type_vocab_size, 1);
  EXPECT_EQ(read.hidden_act, ActivationFunction::GELUTanh);
  EXPECT_DOUBLE_EQ(read.layer_norm_eps, 1e-5);
  EXPECT_DOUBLE_EQ(read.hidden_dropout_prob, 0);
  EXPECT_DOUBLE_EQ(read.attention_probs_dropout_prob, 0.5);
}

TEST(BertConfigTest, RejectsHostileAndUnsupportedFiles) {
  const auto expect_error = [](const std::string& member, ErrorCode code) {
    EXPECT_ERROR(static_cast<void>(parse_bert_config("{" + member + "}")), code);
  };
  for (const char* const size : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                                 "intermediate_size", "max_position_embeddings", "type_vocab_size"}) {
    for (const char* const value : {"0", "-1", "9223372036854775807", "1e300", "1.5", "\"1\"", "[]", "true"}) {
      expect_error(fmt::format(R"("{}":{})", size, value), ErrorCode::corrupt_data);
    }
  }
  expect_error(R"("hidden_size":768,"num_attention_heads":7)", ErrorCode::corrupt_data);
  expect_error(R"("layer_norm_eps":-1)", ErrorCode::corrupt_data);
  expect_error(R"("hidden_dropout_prob":1)", ErrorCode::corrupt_data);
  expect_error(R"("hidden_act":7)", ErrorCode::corrupt_data);
  expect_error(R"("hidden_act":"xielu")", ErrorCode::unsupported);
  expect_error(R"("model_type":"roberta")", ErrorCode::unsupported);
  expect_error(R"("position_embedding_type":"relative_key")", ErrorCode::unsupported);
  expect_error(R"("is_decoder":true)", ErrorCode::unsupported);
  EXPECT_ERROR(static_cast<void>(parse_bert_config("[]")), ErrorCode::corrupt_data, "an array");
}

}  // namespace
}  // namespace vectis::nn
