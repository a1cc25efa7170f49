// BERT (Devlin et al., 2018): an encoder of token numbers, with the names of Hugging Face's BertModel, whose weights it
// loads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vectis/nn/activation.hpp"
#include "vectis/nn/dense.hpp"
#include "vectis/nn/embedding.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/normalization.hpp"
#include "vectis/nn/state_dict.hpp"

namespace vectis::inline v0_1::nn {

// The sizes of a BERT, with the names and defaults of Hugging Face's config.json.
struct BertOptions {
  std::int64_t vocab_size = 30'522;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  ActivationFunction hidden_act = ActivationFunction::GELU;
  double layer_norm_eps = 1e-12;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
};
// Returns the options in the text of a config.json. Throws CorruptData when it is not one or a size is not in its
// range, and Unsupported for another architecture, such as one with relative positions.
[[nodiscard]] VECTIS_API BertOptions parse_bert_config(std::string_view text);
// The same for the file at `path`. Throws Io when it cannot be read.
[[nodiscard]] VECTIS_API BertOptions read_bert_config(const std::string& path);

// Attention of a sequence to itself, then two dense layers, each added to its input and normalized.
class VECTIS_API BertLayer {
 public:
  static constexpr std::string_view kind = "BertLayer";

  // Throws InvalidInput as Bert does.
  BertLayer(const BertOptions& options, Generator& random);

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const { return forward(x, {}, mode); }
  // `padding` is true where a position of (batch, sequence) is none of the text; empty when all are.
  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& padding, const Mode& mode) const;
  void visit(Visitor& visitor);

  Dense query;
  Dense key;
  Dense value;
  Dense attention_output;
  LayerNorm attention_norm;
  Dense intermediate;
  Dense output;
  LayerNorm output_norm;

 private:
  [[nodiscard]] Tensor attend(const Tensor& x, const Tensor& padding, const Mode& mode) const;
  [[nodiscard]] Tensor feed_forward(const Tensor& x, const Mode& mode) const;

  std::int64_t heads_;
  ActivationFunction activation_;
  double dropout_;
  double attention_dropout_;
};

// What a BERT reads besides the numbers of tokens.
struct BertInputs {
  Tensor padding = {};      // bool, (batch, sequence): true where a position is none of the text
  Tensor token_types = {};  // integers, (batch, sequence): by default all 0
};

// Embeddings of tokens, positions and types, and layers above them. Has no pooler, the layer that BERT was trained with
// for pairs of sentences.
class VECTIS_API Bert {
 public:
  static constexpr std::string_view kind = "Bert";

  // Draws the parameters as the layers that it is made of do. Throws InvalidInput for a size below 1 or above its
  // limit, features that do not divide into the heads, and a dropout outside of [0, 1).
  Bert(const BertOptions& given, Generator& random);

  // Takes numbers of tokens (batch, sequence), returns (batch, sequence, hidden_size).
  [[nodiscard]] Tensor forward(const Tensor& ids, const Mode& mode = {}) const { return forward(ids, {}, mode); }
  // The same with padding and types. Throws InvalidInput for other shapes, and more positions than there are.
  [[nodiscard]] Tensor forward(const Tensor& ids, const BertInputs& inputs, const Mode& mode = {}) const;
  void visit(Visitor& visitor);

  [[nodiscard]] const BertOptions& options() const noexcept { return options_; }

  Embedding word_embeddings;
  Embedding position_embeddings;
  Embedding token_type_embeddings;
  LayerNorm embeddings_norm;
  std::vector<BertLayer> layers;

 private:
  [[nodiscard]] Tensor embed(const Tensor& ids, const Tensor& token_types, const Mode& mode) const;

  BertOptions options_;
};

// Replaces the tensors of `model` by those of Hugging Face's models: BertModel, or one that has it as "bert". Tensors
// of other parts, such as a pooler or a classifier, are left out; "gamma" and "beta" of old files are weight and bias.
// Throws as load_state_dict does.
VECTIS_API void load_bert_state(Bert& model, const StateDict& state);
// Makes the model in `folder`, of config.json and model.safetensors. Throws what reading these files and loading their
// tensors throws.
[[nodiscard]] VECTIS_API Bert load_bert(const std::string& folder, const array::TensorOptions& where = {},
                                        DType type = DType::float32);

}  // namespace vectis::inline v0_1::nn
