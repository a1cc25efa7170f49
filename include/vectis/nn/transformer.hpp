// Blocks of the transformer (Vaswani et al., 2017). Arrays are (batch, sequence, features).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vectis/nn/activation.hpp"
#include "vectis/nn/attention.hpp"
#include "vectis/nn/dense.hpp"
#include "vectis/nn/module.hpp"
#include "vectis/nn/normalization.hpp"

namespace vectis::inline v0_1::nn {

struct TransformerOptions {
  std::int64_t feed_forward = 2048;  // hidden features between the two dense layers
  double dropout = 0.1;
  ActivationFunction activation = ActivationFunction::ReLU;
  bool norm_first = false;  // normalizes the inputs of attention and of dense layers instead of their sums
  double epsilon = 1e-5;    // of the normalizations
};

// Attention of a sequence to itself, then two dense layers, each added to its input.
class VECTIS_API TransformerEncoderLayer {
 public:
  static constexpr std::string_view kind = "TransformerEncoderLayer";

  // Throws InvalidInput as MultiHeadAttention does.
  TransformerEncoderLayer(std::int64_t features, std::int64_t heads, Generator& random,
                          const TransformerOptions& given = {});

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const { return forward(x, {}, mode); }
  // With a `cache`, keys and values of earlier calls come before those of this one.
  [[nodiscard]] Tensor forward(const Tensor& x, const AttentionMask& mask, const Mode& mode = {},
                               KeyValueCache* cache = nullptr) const;
  void visit(Visitor& visitor);

  MultiHeadAttention self_attn;
  Dense linear1;
  Dense linear2;
  LayerNorm norm1;
  LayerNorm norm2;
  TransformerOptions options;
};

// Encoder layers one after the other, named "layers.0" and so on, with a normalization behind the last if there is one.
class VECTIS_API TransformerEncoder {
 public:
  static constexpr std::string_view kind = "TransformerEncoder";

  // With `options.norm_first` there is a last normalization. Throws InvalidInput for less than one layer.
  TransformerEncoder(std::int64_t layer_count, std::int64_t features, std::int64_t heads, Generator& random,
                     const TransformerOptions& options = {});

  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const { return forward(x, {}, mode); }
  // With `caches`, one for each layer: of an empty vector, they are made.
  [[nodiscard]] Tensor forward(const Tensor& x, const AttentionMask& mask, const Mode& mode = {},
                               std::vector<KeyValueCache>* caches = nullptr) const;
  void visit(Visitor& visitor);

  std::vector<TransformerEncoderLayer> layers;
  std::optional<LayerNorm> norm;
};

// What a decoder reads besides its own sequence, and its masks.
struct DecoderMasks {
  AttentionMask self = {};    // of the sequence
  AttentionMask memory = {};  // of the encoder's output
};

// Attention of a sequence to itself and to the output of an encoder, then two dense layers.
class VECTIS_API TransformerDecoderLayer {
 public:
  static constexpr std::string_view kind = "TransformerDecoderLayer";

  // Throws InvalidInput as MultiHeadAttention does.
  TransformerDecoderLayer(std::int64_t features, std::int64_t heads, Generator& random,
                          const TransformerOptions& given = {});

  // `cache` is of the attention of the sequence to itself.
  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& memory, const DecoderMasks& masks = {},
                               const Mode& mode = {}, KeyValueCache* cache = nullptr) const;
  void visit(Visitor& visitor);

  MultiHeadAttention self_attn;
  MultiHeadAttention multihead_attn;
  Dense linear1;
  Dense linear2;
  LayerNorm norm1;
  LayerNorm norm2;
  LayerNorm norm3;
  TransformerOptions options;
};

// Decoder layers one after the other, named "layers.0" and so on, with a normalization behind the last if there is one.
class VECTIS_API TransformerDecoder {
 public:
  static constexpr std::string_view kind = "TransformerDecoder";

  // With `options.norm_first` there is a last normalization. Throws InvalidInput for less than one layer.
  TransformerDecoder(std::int64_t layer_count, std::int64_t features, std::int64_t heads, Generator& random,
                     const TransformerOptions& options = {});

  // With `caches`, one for each layer: of an empty vector, they are made.
  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& memory, const DecoderMasks& masks = {},
                               const Mode& mode = {}, std::vector<KeyValueCache>* caches = nullptr) const;
  void visit(Visitor& visitor);

  std::vector<TransformerDecoderLayer> layers;
  std::optional<LayerNorm> norm;
};

}  // namespace vectis::inline v0_1::nn
