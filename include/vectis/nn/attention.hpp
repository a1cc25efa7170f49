// Attention (Vaswani et al., 2017).
#pragma once

#include <cstdint>
#include <string_view>

#include "vectis/nn/module.hpp"

namespace vectis::inline v0_1::nn {

// Keys and values of the positions before those of a call, for generation one position at a time: each call appends
// its own, unless it throws. Shapes (batch, heads, positions, features of a head); empty before the first call.
struct KeyValueCache {
  Tensor keys;
  Tensor values;

  // Returns the number of positions that it holds.
  [[nodiscard]] std::int64_t positions() const { return keys.is_empty() ? 0 : keys.extent(2); }
};

// Which positions attend to which. Masks of bool are true where there is no attention, as in PyTorch's
// MultiheadAttention; floating-point masks are added to the scores.
struct AttentionMask {
  Tensor scores = {};       // (queries, keys), or what broadcasts to (batch, heads, queries, keys)
  Tensor key_padding = {};  // (batch, keys)
  bool is_causal = false;   // no position attends to later ones; the last query is at the last key
};

// Returns softmax(query @ key^T / sqrt(features) + mask) @ value. `query` has shape (batch, heads, queries, features),
// `key` and `value` have (batch, heads, keys, features). `dropout_probability` applies to the softmax. Throws
// InvalidInput when shapes do not fit, and for masks of integers.
VECTIS_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                               const AttentionMask& mask = {}, double dropout_probability = 0,
                                               const Mode& mode = {});

struct AttentionOptions {
  double dropout = 0;  // of the attention weights
  bool bias = true;
};
// Attention in several heads, each with features / heads features of its own. Arrays are (batch, sequence, features).
class VECTIS_API MultiHeadAttention {
 public:
  static constexpr std::string_view kind = "MultiHeadAttention";

  // Draws the weights as PyTorch does: xavier_uniform() for the joined projection of the inputs, zeros for biases.
  // Throws InvalidInput unless `features` divide into `heads` and 0 <= dropout < 1.
  MultiHeadAttention(std::int64_t features, std::int64_t heads, Generator& random, const AttentionOptions& given = {});

  // Attention of a sequence to itself.
  [[nodiscard]] Tensor forward(const Tensor& x, const Mode& mode = {}) const { return attend(x, x, x, {}, mode); }
  // Attention of `query` (batch, queries, features) to `key` and `value` (batch, keys, features). With a `cache`, keys
  // and values of earlier calls come before those of this one. Throws InvalidInput when shapes do not fit.
  [[nodiscard]] Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                              const AttentionMask& mask = {}, const Mode& mode_of_call = {},
                              KeyValueCache* cache = nullptr) const;
  void visit(Visitor& visitor);

  Tensor in_proj_weight;   // (3 features, features): of query, key and value
  Tensor in_proj_bias;     // (3 features,)
  Tensor out_proj_weight;  // (features, features), named "out_proj.weight"
  Tensor out_proj_bias;    // (features,)
  std::int64_t heads;
  AttentionOptions options;
};

}  // namespace vectis::inline v0_1::nn
