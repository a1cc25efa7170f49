// Fuzzes the reader of config.json, and makes a model of every small one it accepts.
#include <algorithm>

#include "tests/fuzz/fuzz.hpp"
#include "vectis/array/operations.hpp"
#include "vectis/nn/bert.hpp"

namespace vectis::fuzz {

namespace {

// Options that were accepted are those of a model.
void use(const nn::BertOptions& options) noexcept {
  constexpr std::int64_t small_layers = 4;
  constexpr std::int64_t small_size = 64;
  if (options.num_hidden_layers > small_layers) return;
  nn::Generator random(1, {.runtime = &runtime()});
  const nn::Bert model(options, random);
  const std::int64_t size_max = std::max({options.hidden_size, options.intermediate_size, options.vocab_size,
                                          options.max_position_embeddings, options.type_vocab_size});
  if (size_max > small_size) return;
  const array::Tensor ids = array::zeros({1, 1}, DType::int32, {.runtime = &runtime()});
  expect(model.forward(ids).eval().shape() == Shape({1, 1, options.hidden_size}));
}

void read_and_use(BytesView file) { use(nn::parse_bert_config(text_of(file))); }

std::vector<Bytes> seeds() {
  return {
      bytes_of("{}"),
      bytes_of(R"({"model_type":"bert","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,"num_attention_heads":2,)"
               R"("intermediate_size":5,"max_position_embeddings":3,"type_vocab_size":1,"hidden_act":"gelu",)"
               R"("layer_norm_eps":1e-12,"hidden_dropout_prob":0.1,"attention_probs_dropout_prob":0,)"
               R"("position_embedding_type":"absolute","is_decoder":false})"),
  };
}

}  // namespace

const Target target{seeds, nullptr, read_and_use, {ErrorCode::corrupt_data, ErrorCode::unsupported}};

}  // namespace vectis::fuzz
