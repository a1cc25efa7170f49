#include "vectis/nn/text_encoder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "tests/support/expect_error.hpp"
#include "tests/support/model.hpp"
#include "tests/support/random_text_model.hpp"
#include "tests/support/seed.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/base/random.hpp"

namespace vectis::nn {
namespace {

using test::RandomTextModel;

// The same network as plain loops in double precision.
class PlainBert {
 public:
  using Rows = std::vector<std::vector<double>>;

  PlainBert(const BertOptions& sizes, const StateDict& state) : sizes_(sizes) {
    for (const auto& [name, tensor] : state) {
      const std::vector<float> values = tensor.to_cpu<float>();
      weights_[name].assign(values.begin(), values.end());
    }
  }

  [[nodiscard]] Rows forward(std::span<const std::int32_t> ids) const {
    const auto width = static_cast<std::size_t>(sizes_.hidden_size);
    Rows x(ids.size(), std::vector<double>(width));
    for (std::size_t t = 0; t < ids.size(); ++t) {
      for (std::size_t i = 0; i < width; ++i) {
        x[t][i] = at("embeddings.word_embeddings.weight", static_cast<std::size_t>(ids[t]) * width + i) +
                  at("embeddings.position_embeddings.weight", t * width + i) +
                  at("embeddings.token_type_embeddings.weight", i);
      }
    }
    x = normalize_rows(x, "embeddings.LayerNorm");
    for (std::int64_t i = 0; i < sizes_.num_hidden_layers; ++i) x = layer(x, fmt::format("encoder.layer.{}.", i));
    return x;
  }

 private:
  [[nodiscard]] double at(const std::string& name, std::size_t i) const { return weights_.at(name).at(i); }

  [[nodiscard]] Rows dense(const Rows& x, const std::string& name) const {
    const std::vector<double>& bias = weights_.at(name + ".bias");
    Rows y(x.size(), bias);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t o = 0; o < bias.size(); ++o) {
        for (std::size_t i = 0; i < x[t].size(); ++i) y[t][o] += x[t][i] * at(name + ".weight", o * x[t].size() + i);
      }
    }
    return y;
  }

  [[nodiscard]] Rows normalize_rows(const Rows& x, const std::string& name) const {
    Rows y = x;
    for (std::vector<double>& row : y) {
      const auto count = static_cast<double>(row.size());
      const double mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
      double variance = 0;
      for (const double value : row) variance += (value - mean) * (value - mean) / count;
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = (row[i] - mean) / std::sqrt(variance + sizes_.layer_norm_eps) * at(name + ".weight", i) +
                 at(name + ".bias", i);
      }
    }
    return y;
  }

  [[nodiscard]] Rows attention(const Rows& x, const std::string& name) const {
    const Rows queries = dense(x, name + "query");
    const Rows keys = dense(x, name + "key");
    const Rows values = dense(x, name + "value");
    const auto width = static_cast<std::size_t>(sizes_.hidden_size / sizes_.num_attention_heads);
    Rows y(x.size(), std::vector<double>(x[0].size()));
    for (std::size_t begin = 0; begin < x[0].size(); begin += width) {
      for (std::size_t q = 0; q < x.size(); ++q) {
        std::vector<double> weights(x.size());
        for (std::size_t k = 0; k < x.size(); ++k) {
          double score = 0;
          for (std::size_t i = begin; i < begin + width; ++i) score += queries[q][i] * keys[k][i];
          weights[k] = std::exp(score / std::sqrt(static_cast<double>(width)));
        }
        const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t k = 0; k < x.size(); ++k) {
          for (std::size_t i = begin; i < begin + width; ++i) y[q][i] += weights[k] / total * values[k][i];
        }
      }
    }
    return y;
  }

  [[nodiscard]] static Rows sum_of(Rows a, const Rows& b) {
    for (std::size_t t = 0; t < a.size(); ++t) {
      for (std::size_t i = 0; i < a[t].size(); ++i) a[t][i] += b[t][i];
    }
    return a;
  }

  [[nodiscard]] Rows layer(const Rows& x, const std::string& name) const {
    const Rows attended = dense(attention(x, name + "attention.self."), name + "attention.output.dense");
    const Rows middle = normalize_rows(sum_of(x, attended), name + "attention.output.LayerNorm");
    Rows hidden = dense(middle, name + "intermediate.dense");
    for (std::vector<double>& row : hidden) {
      for (double& value : row) value = value / 2 * (1 + std::erf(value / std::sqrt(2.0)));
    }
    return normalize_rows(sum_of(middle, dense(hidden, name + "output.dense")), name + "output.LayerNorm");
  }

  BertOptions sizes_;
  std::map<std::string, std::vector<double>> weights_;
};

std::vector<double> pooled(const PlainBert::Rows& rows, TextPooling pooling) {
  std::vector<double> result = rows[0];
  if (pooling == TextPooling::cls) return result;
  for (std::size_t t = 1; t < rows.size(); ++t) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = pooling == TextPooling::max ? std::max(result[i], rows[t][i]) : result[i] + rows[t][i];
    }
  }
  if (pooling == TextPooling::mean) {
    for (double& value : result) value /= static_cast<double>(rows.size());
  }
  return result;
}

void expect_rows(const Tensor& found, const std::vector<std::vector<double>>& expected, double tolerance) {
  ASSERT_EQ(found.shape()[0], static_cast<std::int64_t>(expected.size()));
  const std::vector<float> values = found.to_cpu<float>();
  for (std::size_t row = 0, at = 0; row < expected.size(); ++row) {
    for (const double value : expected[row]) EXPECT_NEAR(values[at++], value, tolerance) << "row " << row;
  }
}

// Random texts of up to 12 words, of which the model reads 7.
std::vector<std::string> random_texts(std::size_t count) {
  Random random(test::seed());
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (std::uint64_t words = random.below(13); words > 0; --words) {
      text += static_cast<char>('a' + random.below(11));
      text += ' ';
    }
  }
  return texts;
}

TEST(TextEncoderTest, EqualsPlainLoopsForEveryPooling) {
  const RandomTextModel model;
  const PlainBert plain(RandomTextModel::sizes, model.state());
  const std::vector<std::string> texts = random_texts(40);
  for (const TextPooling pooling : {TextPooling::mean, TextPooling::cls, TextPooling::max}) {
    const TextEncoder encoder = model.load({.pooling = pooling, .normalize = false});
    std::vector<std::vector<double>> expected;
    for (const std::string& text : texts) {
      expected.push_back(pooled(plain.forward(encoder.tokenizer().encode(text, encoder.max_length())), pooling));
    }
    expect_rows(encoder.encode(texts, 7), expected, 2e-5);
  }
}

TEST(TextEncoderTest, ReadsTheConfigurationOfTheFolder) {
  const RandomTextModel model;
  EXPECT_EQ(model.load().pooling(), TextPooling::mean);
  EXPECT_TRUE(model.load().normalizes());
  EXPECT_EQ(model.load().dim(), 12);
  EXPECT_EQ(model.load().max_length(), 9);
  model.write("tokenizer_config.json", R"({"model_max_length":8})");
  EXPECT_EQ(model.load().max_length(), 8);
  model.write("sentence_bert_config.json", R"({"max_seq_length":6,"do_lower_case":true})");
  EXPECT_EQ(model.load().max_length(), 6);
  EXPECT_EQ(model.load({.max_length = 4}).max_length(), 4);
  model.write("sentence_bert_config.json", R"({"max_seq_length":512})");
  EXPECT_EQ(model.load().max_length(), 9) << "the model has 9 positions";
  for (const auto& [name, pooling] : {std::pair{"pooling_mode_cls_token", TextPooling::cls},
                                      std::pair{"pooling_mode_max_tokens", TextPooling::max}}) {
    model.write_pooling(fmt::format(R"("pooling_mode_mean_tokens":false,"{}":true)", name));
    EXPECT_EQ(model.load().pooling(), pooling);
  }
  model.remove("modules.json");
  EXPECT_EQ(model.load().pooling(), TextPooling::mean);
  EXPECT_FALSE(model.load().normalizes());
}

TEST(TextEncoderTest, BatchesChangeNothingButRounding) {
  const RandomTextModel model;
  const TextEncoder encoder = model.load();
  const std::vector<std::string> texts = random_texts(23);
  const Tensor expected = encoder.encode(texts, 1);
  for (const std::int64_t batch_size : {std::int64_t{2}, std::int64_t{23}, std::int64_t{1} << 40}) {
    EXPECT_LT(array::max(absolute(encoder.encode(texts, batch_size) - expected)).item(), 1e-5) << batch_size;
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  EXPECT_EQ(encoder.encode(views, 1).to_cpu<float>(), expected.to_cpu<float>());
  EXPECT_EQ(encoder.encode(texts[3]).to_cpu<float>(), expected[3].to_cpu<float>());
  EXPECT_EQ(encoder.encode(texts[3]).shape(), Shape({12}));
}

TEST(TextEncoderTest, NormalizedVectorsHaveLengthOne) {
  const RandomTextModel model;
  const Tensor lengths = norm(model.load().encode(random_texts(9)), {1});
  EXPECT_LT(array::max(absolute(lengths - 1)).item(), 1e-6);
}

TEST(TextEncoderTest, TextsWithoutTokensAreZeros) {
  const RandomTextModel model;
  EXPECT_EQ(model.load().encode(std::span<const std::string>()).shape(), Shape({0, 12}));
  model.write("tokenizer.json", R"({"model":{"type":"WordPiece","vocab":{"[UNK]":1,"a":4}},"normalizer":null,)"
                                R"("pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":null})");
  const std::vector<std::string> texts = {"", "a", " "};
  const Tensor vectors = model.load().encode(texts);
  EXPECT_EQ(array::count_nonzero(vectors[0]).item(), 0);
  EXPECT_NEAR(norm(vectors[1]).item(), 1, 1e-6);
  EXPECT_EQ(array::count_nonzero(vectors[2]).item(), 0);
}

TEST(TextEncoderTest, WeightsOf16BitsGiveNearlyTheSame) {
  const RandomTextModel model;
  const std::vector<std::string> texts = random_texts(9);
  const Tensor vectors = model.load({.dtype = DType::bfloat16}).encode(texts);
  EXPECT_EQ(vectors.dtype(), DType::float32);
  EXPECT_LT(array::max(absolute(vectors - model.load().encode(texts))).item(), 0.1);
}

TEST(TextEncoderTest, ReportsProgressAndCanBeCancelled) {
  const RandomTextModel model;
  const TextEncoder encoder = model.load();
  const std::vector<std::string> texts(10, "a b c");
  std::vector<std::uint64_t> done;
  CancelSource source;
  const Context context = Context().with_cancel(source).with_progress([&](const Progress& progress) {
    EXPECT_EQ(progress.operation, "encode");
    EXPECT_EQ(progress.total, 10U);
    done.push_back(progress.done);
    if (progress.done == 8) source.cancel();
  });
  EXPECT_ERROR(static_cast<void>(encoder.encode(texts, 4, context)), ErrorCode::cancelled);
  EXPECT_EQ(done, (std::vector<std::uint64_t>{4, 8}));
}

TEST(TextEncoderTest, ComputesTextsOfLikeLengthTogether) {
  const RandomTextModel model;
  const std::vector<std::string> texts = {"a", "a b c d e f g", "", "a b c d", "a b c"};
  std::vector<std::uint64_t> done;
  const Context context = Context().with_progress([&](const Progress& progress) { done.push_back(progress.done); });
  static_cast<void>(model.load().encode(texts, 32, context));
  EXPECT_EQ(done, (std::vector<std::uint64_t>{3, 5})) << "9, 6 and 5 tokens, then 3 and 2";
}

TEST(TextEncoderTest, RejectsInputsAndOptionsOutOfRange) {
  const RandomTextModel model;
  const TextEncoder encoder = model.load();
  const std::vector<std::string> texts = {"a", "b\xff"};
  EXPECT_ERROR(static_cast<void>(encoder.encode(texts)), ErrorCode::invalid_input, "text 1", "byte 1 of 2");
  EXPECT_ERROR(static_cast<void>(encoder.encode(texts, 0)), ErrorCode::invalid_input, "batch_size is 0");
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{10}}) {
    EXPECT_ERROR(static_cast<void>(model.load({.max_length = length})), ErrorCode::invalid_input, "give 3 to 9");
  }
  EXPECT_ERROR(static_cast<void>(model.load({.dtype = DType::float64})), ErrorCode::invalid_input, "float64");
}

// A file of a model, replaced by a hostile one, and the error that loading throws.
struct HostileFile {
  const char* name;
  const char* text;
  ErrorCode code;
  const char* message;
};

class HostileTextEncoderTest : public testing::TestWithParam<HostileFile> {};

TEST_P(HostileTextEncoderTest, IsRejected) {
  const RandomTextModel model;
  model.write(GetParam().name, GetParam().text);
  EXPECT_ERROR(static_cast<void>(model.load()), GetParam().code, GetParam().message);
}

constexpr auto corrupt = ErrorCode::corrupt_data;
constexpr auto unsupported = ErrorCode::unsupported;

INSTANTIATE_TEST_SUITE_P(
    Files, HostileTextEncoderTest,
    testing::Values(
        HostileFile{"config.json", "", corrupt, "config.json"},
        HostileFile{"config.json", R"({"vocab_size":9223372036854775807})", corrupt, "vocab_size"},
        HostileFile{"config.json", R"({"vocab_size":16777216,"hidden_size":65536,"num_attention_heads":1})",
                    ErrorCode::invalid_input, "other shapes"},
        HostileFile{"config.json", R"({"vocab_size":13})", corrupt, "number 13"},
        HostileFile{"config.json", R"({"max_position_embeddings":2})", corrupt, "2 tokens"},
        HostileFile{"model.safetensors", "short", corrupt, "model.safetensors"},
        HostileFile{"vocab.txt", "", corrupt, "vocab.txt"}, HostileFile{"modules.json", "{}", corrupt, "modules.json"},
        HostileFile{"modules.json", "[]", corrupt, "modules.json"},
        HostileFile{"modules.json", R"([{"type":"x.Transformer","path":"../.."},{"type":"x.Pooling","path":"p"}])",
                    corrupt, "inside"},
        HostileFile{"modules.json", R"([{"type":"x.Transformer","path":""},{"type":"x.Dense","path":"p"}])",
                    unsupported, "'x.Dense'"},
        HostileFile{"modules.json", R"([{"type":"x.Transformer","path":""},{"type":"x.Pooling","path":"p"}])",
                    ErrorCode::io, "p/config.json"},
        HostileFile{"1_Pooling/config.json", "{}", unsupported, "0 modes"},
        HostileFile{"1_Pooling/config.json", R"({"pooling_mode_lasttoken":true})", unsupported, "lasttoken"},
        HostileFile{"1_Pooling/config.json", R"({"pooling_mode_mean_tokens":1})", corrupt, "1_Pooling"},
        HostileFile{"1_Pooling/config.json", R"({"pooling_mode_mean_tokens":true,"pooling_mode_cls_token":true})",
                    unsupported, "2 modes"},
        HostileFile{"sentence_bert_config.json", R"({"max_seq_length":-1})", corrupt, "-1"},
        HostileFile{"sentence_bert_config.json", R"({"max_seq_length":2})", corrupt, "adds 2"},
        HostileFile{"tokenizer_config.json", R"({"model_max_length":0})", corrupt, "model_max_length"}));

TEST(TextEncoderTest, RejectsCapitalsThatTheTokenizerWouldKeep) {
  const RandomTextModel model;
  model.write("tokenizer_config.json", R"({"do_lower_case":false})");
  model.write("sentence_bert_config.json", R"({"do_lower_case":true})");
  EXPECT_ERROR(static_cast<void>(model.load()), ErrorCode::unsupported, "do_lower_case");
}

TEST(TextEncoderTest, FindsTextsOfLikeMeaningByARealModel) {
  const TextEncoder encoder = TextEncoder::load(test::model_folder());
  EXPECT_EQ(encoder.max_length(), 256);
  const std::vector<std::string> texts = {"A cat sleeps on the sofa.", "A kitten naps on the couch.",
                                          "The central bank raised interest rates."};
  const Tensor vectors = encoder.encode(texts);
  const std::vector<float> similar = matmul(vectors, matrix_transpose(vectors)).to_cpu<float>();
  EXPECT_GT(similar[1], 0.5F);
  EXPECT_LT(similar[2], 0.2F);
}

TEST(TextEncoderConcurrent, ThreadsShareAnEncoder) {
  const RandomTextModel model;
  const TextEncoder encoder = model.load();
  const std::vector<std::string> texts = random_texts(20);
  const std::vector<float> expected = encoder.encode(texts, 4).to_cpu<float>();
  std::vector<std::vector<float>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& mine : found) {
    threads.emplace_back([&] { mine = encoder.encode(texts, 4).to_cpu<float>(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& mine : found) EXPECT_EQ(mine, expected);
}

}  // namespace
}  // namespace vectis::nn
